"""A small world of artefacts, own graphs and a bank, the commands that make it, and a way to run
each command in a process of its own at little cost.

A command runs in a fork of a process that has imported everything and computed nothing: it is the
program that `taamctl` starts, from its entry on, without the second that imports take.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DATA = ("--dataset", "synthetic")
SET = ("--set", "train.epochs=3", "--set", "train.threads=1", "--set", "train.device=cpu")
SET += ("--set", "report.pictures=false")
RUN = (*DATA, "--method", "finetune", "--method", "linear_probe", "--seed", "1", *SET)
NOT_COMPARED = (".provenance.json", ".lock", ".stamp", ".held", ".keys.json")
GIVEN = ("nodes.csv", "edges.csv", "bank.tar", "right.csv")
PRELOADED = (
    *("taamctl.cli.app", "torch", "h5py", "scipy.sparse", "pandas", "sklearn.linear_model"),
    *("psutil", "filelock", "taamctl.pipeline.walk", "taamctl.stages.train", "taamctl.bank.add"),
    *("taamctl.stages.report", "taamctl.bank.predictor", "taamctl.bank.transfer"),
    *("taamctl.bank.update", "taamctl.bank.forget", "taamctl.bank.statement"),
    *("taamctl.importing.import_graph", "taamctl.pipeline.check_files", "jinja2"),
    "encodings.utf_8_sig",  # a command that became another user may not read the standard library
)


@dataclass(frozen=True)
class Verb:
    """A command.

    Attributes:
        words: its arguments.
        makes: what it writes, as patterns; removed before it is to write it again.
        read: what it reads.
        start: the folder that what it makes begins as a copy of.
        once: what it says where it was done already and cannot be done twice.
    """

    words: tuple[str, ...]
    makes: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    start: str = ""
    once: str = ""


def _stage(name: str, *more: str) -> tuple[str, ...]:
    grid = () if name in ("split", "precompute") else ("--method", "finetune", "--seed", "1")
    return (name, *DATA, *grid, *SET, *more)


STAGES = ("split", "precompute", "train", "infer", "eval", "report")
ONE = "synthetic/finetune/seed-1"
VERBS: dict[str, Verb] = {
    "split": Verb(_stage("split"), ("outputs/split/synthetic",)),
    "precompute": Verb(_stage("precompute"), ("outputs/precompute/*",), ("outputs/split/*/*",)),
    "train": Verb(_stage("train"), (f"outputs/train/{ONE}",), ("outputs/precompute/*/*",)),
    "infer": Verb(
        _stage("infer"),
        (f"outputs/infer/{ONE}",),
        ("outputs/precompute/*/*", f"outputs/train/{ONE}/*"),
    ),
    "eval": Verb(
        _stage("eval"), (f"outputs/eval/{ONE}",), ("outputs/split/*/*", f"outputs/infer/{ONE}/*")
    ),
    "report": Verb(("report", *RUN), ("outputs/report",), ("outputs/eval/*/*/*/*",)),
    "run": Verb(
        ("run", *RUN, "--json"),
        (
            *("outputs/split/synthetic", "outputs/precompute", "outputs/report"),
            *(f"outputs/{stage}/synthetic/*/seed-1" for stage in ("train", "infer", "eval")),
        ),
        ("outputs/*/**/*",),
    ),
    "keys": Verb(("keys", *RUN), ("outputs/.keys.json",), ("outputs/split/*/*",)),
    "data import": Verb(
        ("data", "import", "nodes.csv", "edges.csv", "--name", "g"), ("data/g.h5*",), ("*.csv",)
    ),
    "split of one's own": Verb(
        ("split", "--dataset", "g", *SET), ("outputs/split/g",), ("data/*",)
    ),
    "predict": Verb(
        ("predict", "--bank", "bank", "--graph", "data/g.h5", "--out", "answers.csv", "--quiet"),
        ("answers.csv",),
        ("data/*", "bank/*", "bank/tasks/*"),
    ),
    "bank import": Verb(("bank", "import", "bank.tar", "bank"), ("bank",), ("bank.tar",)),
    "bank export": Verb(
        ("bank", "export", "bank", "out.tar"), ("out.tar",), ("bank/*", "bank/*/*")
    ),
    "bank update": Verb(
        ("bank", "update", "live", "--graph", "data/g.h5", "--quiet"),
        ("live",),
        ("data/g.h5",),
        start="half",
    ),
    "bank forget": Verb(
        ("bank", "forget", "less", "--nodes", "gone.txt", "--graph", "data/g.h5", "--quiet"),
        ("less",),
        ("data/g.h5", "live/*", "live/tasks/*", "gone.txt"),
        start="live",
        once="does not know",
    ),
}
# Commands that only look: exit code 1 where something is wrong, and nothing is written.
LOOKS: dict[str, Verb] = {
    "verify": Verb(
        ("verify", "outputs", "data", "bank", "live"),
        (),
        ("outputs/*/**/*", "data/*", "bank/*", "live/*"),
    ),
    "bank verify": Verb(("bank", "verify", "bank"), (), ("bank/*", "bank/*/*")),
    "inspect": Verb(
        ("inspect", "outputs/precompute/synthetic/features.h5", "--check"),
        (),
        ("outputs/precompute/*/*",),
    ),
    "status": Verb(("status", *RUN), (), ("outputs/*/**/*",)),
    "doctor": Verb(("data", "doctor", "g"), (), ("data/*",)),
}


@dataclass
class Ended:
    """How a command ended; `code` is negative where a signal ended it."""

    code: int
    out: str
    err: str
    hung: bool = False

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith("error: ")]

    @property
    def refused(self) -> bool:
        """Tell whether it ended as a refusal does: one line with the error, one with the hint."""
        hints = [line for line in self.err.splitlines() if line.startswith("hint: ")]
        return self.code == 2 and len(self.errors) == 1 and len(hints) == 1 and not self.traceback

    @property
    def traceback(self) -> bool:
        return "Traceback" in self.err


@dataclass
class Started:
    """A command that runs."""

    pid: int
    folder: Path
    out: Path
    began: float = field(default_factory=time.monotonic)
    limit: float = 60.0

    def send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self) -> Ended:
        """Wait for the end; after the limit it counts as hung and is killed."""
        hung = False
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if not hung and time.monotonic() - self.began > self.limit:
                hung = True
                self.send(signal.SIGUSR1)  # says where it stands
                time.sleep(0.5)
                self.send(signal.SIGKILL)
            time.sleep(0.005)
        texts = [
            (self.out.with_suffix(end)).read_text(errors="replace") for end in (".out", ".err")
        ]
        for end in (".out", ".err"):
            self.out.with_suffix(end).unlink()
        code = os.waitstatus_to_exitcode(status)
        return Ended(code, *texts, hung=hung)


def preload() -> None:
    """Import what commands import, and compute nothing."""
    os.environ.update(OMP_NUM_THREADS="1", DGLBACKEND="pytorch", NO_COLOR="1", COLUMNS="200")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def start(
    folder: Path, words: Sequence[str], limit: float, before: Callable[[], None] = lambda: None
) -> Started:
    """Start a command in a folder.

    Args:
        limit: seconds after which it hangs.
        before: runs in the new process first: limits, another user.
    """
    # What a command says is not to lie on a disk that is filled for it.
    beside = folder.parent.parent if folder.parent.is_mount() else folder.parent
    out = beside / f"{folder.name}.{random.randrange(1 << 40):x}.out"
    for end in (".out", ".err"):
        out.with_suffix(end).touch()
    pid = os.fork()
    if pid:
        return Started(pid, folder, out, limit=limit)
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        for number, end in ((1, ".out"), (2, ".err")):
            os.dup2(os.open(out.with_suffix(end), os.O_WRONLY), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = ["taamctl", *words]
        signal.signal(signal.SIGINT, signal.default_int_handler)
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=False)
        from taamctl.cli import app

        before()
        app.entry()
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 99
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def content(world: Path) -> dict[str, bytes]:
    """Return the bytes of everything that has to be as in the undisturbed world.

    A report tells seconds, which differ from run to run: of it, the numbers.
    """
    found = {}
    for path in sorted(world.rglob("*")):
        name = path.relative_to(world).as_posix()
        if not path.is_file() or name.endswith(NOT_COMPARED) or ".checkpoints" in path.parts:
            continue
        if not name.startswith("outputs/report/"):
            found[name] = path.read_bytes()
        elif path.name == "report.json":
            found[name] = json.dumps(_numbers(json.loads(path.read_text()))).encode()
    return found


def _numbers(value: object) -> object:
    """Return the rows of a report without the seconds, the memory and what tells the machine."""
    if isinstance(value, dict):
        timed = ("second", "memory", "wall", "cpu", "machine", "version")
        return {k: _numbers(v) for k, v in value.items() if not any(t in k for t in timed)}
    return [_numbers(item) for item in value] if isinstance(value, list) else value


def leftovers(world: Path) -> list[str]:
    """Return what no command should leave behind, once the next one of its kind has ended."""
    found = []
    for path in world.rglob(".*"):
        name = path.name
        kept = name.endswith((".lock", ".stamp")) or name == ".keys.json"
        if not kept and not any(
            part.startswith(".") for part in path.parent.relative_to(world).parts
        ):
            found.append(path.relative_to(world).as_posix())
    return found


def make_world(folder: Path) -> tuple[Path, dict[str, float]]:
    """Make the undisturbed world, and return it with the seconds that each verb takes.

    Raises:
        RuntimeError: a command fails.
    """
    world, seconds = folder / "world", {}
    world.mkdir(parents=True)
    rng = random.Random(0)
    rows = [f"n{i},{'abcd'[i % 4]},{rng.gauss(i % 4, 1):.3f},{rng.random():.3f}" for i in range(80)]
    (world / "nodes.csv").write_text("\n".join(["id,label,size_cm,mass_kg", *rows]) + "\n")
    ends = [f"n{i % 80},n{(i + 4 * rng.randrange(1, 9)) % 80}" for i in range(160)]
    (world / "edges.csv").write_text("\n".join(["source,target", *ends]) + "\n")
    run_now(world, other_seed(VERBS["run"].words))
    for name in ("data import", "run"):
        seconds[name] = _timed(world, VERBS[name].words)
    run_now(world, ["bank", "create", "bank", "--method", "linear_probe", *SET[2:4]])
    run_now(world, ["bank", "add-task", "bank", "--graph", "data/g.h5", "--quiet"])
    run_now(world, ("bank", "export", "bank", "bank.tar"))
    shutil.rmtree(world / "bank")
    _make_growing(world, rows, ends)
    for name in ("bank import", *VERBS, *LOOKS):
        words = (VERBS | LOOKS)[name].words
        _begin(world, (VERBS | LOOKS)[name])
        if words[0] in STAGES and "g" not in words:
            seconds[name] = 0.5 * seconds["run"]  # how long it takes alone is not needed exactly
        elif name not in seconds:
            seconds[name] = _timed(world, words)
    return world, seconds


def _make_growing(world: Path, rows: Sequence[str], ends: Sequence[str]) -> None:
    """Make a bank that knows half of the nodes, and a list of nodes to forget."""
    half = {row.partition(",")[0] for row in rows[:40]}
    inside = [pair for pair in ends if half.issuperset(pair.split(","))]
    (world / "h.csv").write_text("\n".join(["id,label,size_cm,mass_kg", *rows[:40]]) + "\n")
    (world / "h_edges.csv").write_text("\n".join(["source,target", *inside]) + "\n")
    (world / "gone.txt").write_text("n1\nn2\nn47\n")
    run_now(world, ["data", "import", "h.csv", "h_edges.csv", "--name", "h"])
    exact = ("--set", "bank.sums=class", "--set", "bank.router.width=64")
    run_now(world, ["bank", "create", "half", "--method", "linear_probe", *SET[2:4], *exact])
    run_now(world, ["bank", "add-task", "half", "--graph", "data/h.h5", "--quiet"])


def _begin(world: Path, verb: Verb) -> None:
    """Lay down what a verb changes, as it was before."""
    if verb.start:
        shutil.copytree(world / verb.start, world / verb.makes[0])


def other_seed(words: Sequence[str]) -> list[str]:
    """Return the same command with the seed 2."""
    return [{"1": "2"}.get(word, word) for word in words]


def _timed(world: Path, words: Sequence[str]) -> float:
    began = time.monotonic()
    run_now(world, words)
    return time.monotonic() - began


def clear(world: Path, verb: Verb) -> None:
    """Remove what a verb makes."""
    for pattern in verb.makes:
        for path in list(world.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    _begin(world, verb)


def run_now(world: Path, words: Sequence[str]) -> Ended:
    """Run a command that has to end well."""
    ended = start(world, words, 600.0).wait()
    if ended.code:
        raise RuntimeError(f"{' '.join(words)} ended with {ended.code}: {ended.err}")
    return ended
