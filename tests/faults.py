"""Inject faults into the command line and hold it to: right, or refused in one line.

    python tests/faults.py --faults 1000 --seed 0

Every fault happens to a copy of a small world (fault_world.py). After it the next command gives
exactly what the undisturbed one gave, or the disturbed command was refused with one error and one
hint, and what can be mended is mended by the next `taamctl run`; nothing hangs, nothing is left
behind, nothing is lost. Prints figures by kind; exit code 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import typer

sys.path.insert(0, str(Path(__file__).parent))
import fault_world as worlds
from fault_world import LOOKS, RUN, VERBS, Ended

HANG = 20.0  # seconds beyond what the undisturbed command takes, on an idle machine
NOBODY = 65534
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
YEAR = 365.25 * 86400


@dataclass
class Fault:
    """One fault: where it happens, and what became of it."""

    kind: str
    number: int
    rng: random.Random
    suite: Suite
    world: Path
    told: list[str] = field(default_factory=list)
    outcome: str = ""

    def wrong(self, line: str) -> None:
        """Note a violation."""
        self.told.append(line)

    def run(self, name: str, before: Callable[[], None] = lambda: None, *more: str) -> Ended:
        """Run a verb to its end."""
        return self.begin(name, before, *more).wait()

    def begin(
        self, name: str, before: Callable[[], None] = lambda: None, *more: str
    ) -> worlds.Started:
        """Start a verb."""
        verb = (VERBS | LOOKS)[name]
        limit = self.suite.limit(name)
        return worlds.start(self.world, (*verb.words, *more), limit, before)

    def judge(self, name: str, ended: Ended, *, may_die: bool = False) -> None:
        """Hold a disturbed command to: done, or refused in one line."""
        if ended.hung:
            self.wrong(f"{name} hung: {ended.err.partition('(most recent call first)')[2][:900]}")
        elif ended.traceback:
            self.wrong(f"{name} showed a traceback: {ended.err.strip().splitlines()[-1][:200]}")
        elif ended.code < 0 and not may_die:
            self.wrong(f"{name} was ended by signal {-ended.code}")
        elif ended.code == 2 and not ended.refused:
            self.wrong(f"{name} was refused in other than one line: {ended.err[-300:]!r}")
        elif ended.code not in (0, 2, 130) and not (may_die and ended.code < 0):
            looked = ended.code == 1 and name.startswith(tuple(LOOKS))
            if not looked:
                self.wrong(f"{name} ended with {ended.code}: {ended.err[-300:]!r}")
        outcomes = {0: "done", 1: "refused", 2: "refused"}
        self.outcome = outcomes.get(ended.code, "killed")

    def compare(self, name: str, patterns: tuple[str, ...] = ("",)) -> None:
        """Hold files to those of the undisturbed world: all, or those that a verb makes."""
        now, right = worlds.content(self.world), self.suite.right
        for path in sorted({*now, *right}):
            if not any(_below(path, pattern) for pattern in patterns):
                continue
            if path not in now:
                self.wrong(f"after {name} {path} is lost")
            elif path not in right:
                self.wrong(f"after {name} {path} is there, which nobody made")
            elif now[path] != right[path]:
                self.wrong(f"after {name} {path} is another file")

    def mended(self, name: str) -> None:
        """Run the next command of its kind: all is as in the undisturbed world, and nothing more
        is there.
        """
        ended = self.run(name)
        if ended.code and not _was_done(name, ended):
            self.wrong(f"the next {name} ended with {ended.code}: {ended.err[-300:]!r}")
            return
        self.compare(f"the next {name}")
        for path in worlds.leftovers(self.world):
            self.wrong(f"the next {name} left {path} behind")


def _was_done(name: str, ended: Ended) -> bool:
    """Tell whether a command was refused because it was done before it was disturbed."""
    once = (VERBS | LOOKS)[name].once
    return bool(once) and ended.refused and once in ended.err


def _below(path: str, pattern: str) -> bool:
    whole = pattern.rstrip("/")
    return not whole or fnmatch(path, whole) or fnmatch(path, f"{whole}/*")


# -- kinds -----------------------------------------------------------------------------------------


def killed(fault: Fault) -> None:
    """Signals at random moments; then the same command again."""
    name = fault.rng.choice(list(VERBS))
    worlds.clear(fault.world, VERBS[name])
    started = fault.begin(name)
    time.sleep(fault.rng.uniform(0, 1.1) * fault.suite.seconds[name])
    sent = fault.rng.choice(SIGNALS)
    started.send(sent)
    ended = started.wait()
    if ended.hung:
        fault.wrong(f"{name} hung after signal {sent}")
    if ended.code not in (0, 130, -sent):
        fault.wrong(f"{name} ended with {ended.code} after signal {sent}: {ended.err[-200:]!r}")
    fault.outcome = "done" if ended.code == 0 else "killed"
    if name == "bank import" and (fault.world / "bank").exists():
        fault.compare(name, ("bank/",))  # it was whole already: a second import is refused
        return
    again = ("--force",) if name == "data import" and ended.code == 0 else ()
    if name == "data import" and (fault.world / "data" / "g.h5").exists():
        again = ("--force",)
    nxt = fault.run(name, lambda: None, *again)
    if nxt.code and not _was_done(name, nxt):
        fault.wrong(f"the next {name} ended with {nxt.code}: {nxt.err[-300:]!r}")
    if name.startswith("data import"):
        nxt = fault.run("split of one's own")
    fault.compare(f"the next {name}")
    for path in worlds.leftovers(fault.world):
        fault.wrong(f"the next {name} left {path} behind")


SEED_1 = tuple(
    f"outputs/{stage}/synthetic/{method}/seed-1"
    for stage in ("train", "infer", "eval")
    for method in ("finetune", "linear_probe")
)


def _victims(fault: Fault) -> list[Path]:
    """Return what can rot: artefacts, records, own graphs, the bank."""
    found = [
        path
        for folder in ("outputs", "data", "bank", "live", "")
        for path in sorted((fault.world / folder).rglob("*") if folder else fault.world.glob("*"))
        if path.is_file() and path.stat().st_size and not path.name.startswith(".")
    ]
    given = (*worlds.GIVEN[:2], "h.csv", "h_edges.csv", "gone.txt")
    return [path for path in dict.fromkeys(found) if path.name not in given]


def _damage(fault: Fault, how: str, path: Path) -> None:
    rng, before, content = fault.rng, path.stat(), bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    if how == "bit":
        content[at] ^= 1 << rng.randrange(8)
    elif how == "block":
        at -= at % 512
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    elif how == "cut":
        del content[at:]
    else:
        digits = [m.start() for m in re.finditer(rb"[0-9]", bytes(content))]
        if digits:
            where = rng.choice(digits)
            content[where] = 48 + (content[where] - 48 + rng.randrange(1, 10)) % 10
    path.unlink()  # another name of the same bytes stays as it is
    path.write_bytes(bytes(content))
    if rng.random() < 0.7:  # rot keeps the time
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def rotten(fault: Fault, how: str) -> None:
    """Damage one file; then a command that reads it, and the next run."""
    path = fault.rng.choice(_victims(fault))
    if how == "digit":
        texts = [p for p in _victims(fault) if p.suffix in (".json", ".csv", ".md")]
        path = fault.rng.choice(texts)
    name = path.relative_to(fault.world).as_posix()
    _damage(fault, how, path)
    _after_damage(fault, name, f"{how} of {name}")


def _readers(name: str) -> list[str]:
    """Return the commands that read a file."""
    found = [
        verb
        for verb, row in (VERBS | LOOKS).items()
        if any(
            Path(name).match(pattern.replace("/**", "")) or _under(name, pattern)
            for pattern in row.read
        )
    ]
    return found or ["verify"]


def _under(name: str, pattern: str) -> bool:
    return "**" in pattern and name.startswith(pattern.partition("*")[0])


def _after_damage(fault: Fault, name: str, what: str) -> None:
    reader = fault.rng.choice(_readers(name))
    verb = (VERBS | LOOKS)[reader]
    if reader != "run":
        worlds.clear(fault.world, verb)
    ended = fault.run(reader)
    fault.judge(f"{reader} after {what}", ended)
    if ended.code == 0 and verb.makes:
        fault.compare(f"{reader} after {what}", verb.makes)
    if name.startswith("outputs/"):
        _mend_by_run(fault, what)
    else:
        _seen(fault, name, what)


def _mend_by_run(fault: Fault, what: str) -> None:
    ended = fault.run("run")
    if ended.code == 2 and ended.refused and "split/g" in what:
        return
    if ended.code:
        fault.wrong(f"run after {what} ended with {ended.code}: {ended.err[-300:]!r}")
        return
    fault.compare(f"run after {what}", (*SEED_1, "outputs/precompute/", "outputs/split/synthetic"))
    _shown(fault, ended, what)


def _shown(fault: Fault, ended: Ended, what: str) -> None:
    """Hold the printed result to the undisturbed one."""
    rows = [row["sha256"] for row in json.loads(ended.out)]
    if rows != fault.suite.shown:
        fault.wrong(f"run after {what} printed another result")


def _seen(fault: Fault, name: str, what: str) -> None:
    """Own graphs and banks are not made again by themselves: `verify` has to see what is wrong."""
    path = fault.world / name
    if name in ("answers.csv", "out.tar", "bank.tar", "right.csv") or not path.exists():
        return
    if path.read_bytes() == fault.suite.bytes_of(name):
        return
    ended = fault.run("verify")
    if name.endswith(".provenance.json"):  # of no result: an unreadable one is as good as none
        return
    if ended.code == 0 and not _still_says_the_same(path, fault.suite.bytes_of(name)):
        fault.wrong(f"verify saw nothing of {what}")


def _still_says_the_same(path: Path, before: bytes) -> bool:
    """Tell whether damage took nothing but blanks from a manifest, whose digest is of its content:
    the last line end, say.
    """
    if path.parent.name != "manifests":
        return False
    try:
        return bool(json.loads(path.read_bytes()) == json.loads(before))
    except ValueError:
        return False


def swapped(fault: Fault) -> None:
    """Put an artefact where another one of its kind belongs, with or without its record."""
    kinds = (
        "train/*/*/*/train.h5",
        "infer/*/*/*/infer.h5",
        "eval/*/*/*/eval.json",
        "split/*/split.h5",
    )
    here = sorted((fault.world / "outputs").glob(fault.rng.choice(kinds)))
    here = [p for p in here if "/g/" not in str(p)] if len(here) > 2 else here
    target, source = fault.rng.sample(here, 2)
    shutil.copy2(source, target)
    if fault.rng.random() < 0.5:
        shutil.copy2(_record(source), _record(target))
    name = target.relative_to(fault.world).as_posix()
    _after_damage(fault, name, f"{source.parent.name} at the place of {name}")


def stale(fault: Fault) -> None:
    """Leave a record of other bytes beside an artefact, or none."""
    records = sorted(fault.world.rglob("*.provenance.json"))
    target, source = fault.rng.sample(records, 2)
    if fault.rng.random() < 0.3:
        target.unlink()
    else:
        shutil.copy2(source, target)
    name = target.relative_to(fault.world).as_posix()
    _after_damage(fault, name, f"another record {name}")


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.provenance.json")


def limited(fault: Fault, what: str) -> None:
    """Let a command run into a limit, then run it without."""
    names = [name for name in VERBS if name not in ("bank import", "data import")]
    name = fault.rng.choice(names)
    worlds.clear(fault.world, VERBS[name])
    if what == "read-only folder":
        _without_writing(fault, name)
        return
    number, low, high = {
        "file size": (resource.RLIMIT_FSIZE, 0, 60_000),
        "few handles": (resource.RLIMIT_NOFILE, 4, 40),
        "little memory": (resource.RLIMIT_AS, 0, 64 << 20),
    }[what]
    most = fault.rng.randrange(low, high)
    if number == resource.RLIMIT_AS:
        most += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    ended = fault.run(name, lambda: resource.setrlimit(number, (most, most)))
    # The system may end a process that has no memory left, from inside a library.
    fault.judge(f"{name} with {what} {most}", ended, may_die=what == "little memory")
    fault.mended(name)


def _others_may_read() -> bool:
    """Tell whether another user can read this checkout and the installation that runs it."""
    places = [Path(sys.prefix), Path(typer.__file__).parent, Path(__file__).parent]
    return all(
        folder.stat().st_mode & 0o005 == 0o005 for place in places for folder in _up_from(place)
    )


def _up_from(place: Path) -> tuple[Path, ...]:
    return (place.resolve(), *place.resolve().parents)


def _without_writing(fault: Fault, name: str) -> None:
    """Root may write anywhere, so the command becomes another user first."""
    if os.geteuid() == 0 and not _others_may_read():
        return  # the other user could not even load the programme
    folders = [p for p in (fault.world, *fault.world.rglob("*")) if p.is_dir()]
    for folder in folders:
        folder.chmod(0o555)

    def become() -> None:
        if os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    ended = fault.run(name, become)
    for folder in folders:
        folder.chmod(0o755)
    fault.judge(f"{name} in a folder that cannot be written", ended)
    fault.mended(name)


def full_disk(fault: Fault) -> None:
    """Run a command on a file system with little room left, where one can be mounted."""
    disk = fault.world.with_name(f"{fault.world.name}-disk")
    disk.mkdir()
    size = sum(p.stat().st_size for p in fault.world.rglob("*") if p.is_file())
    option = f"size={size * 2 + (1 << 20)}"
    mount = ["mount", "-t", "tmpfs", "-o", option, "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        limited(fault, "file size")
        return
    try:
        shutil.copytree(fault.world, disk / "world")
        plain, fault.world = fault.world, disk / "world"
        name = fault.rng.choice([n for n in VERBS if n not in ("bank import", "data import")])
        worlds.clear(fault.world, VERBS[name])
        free = os.statvfs(disk)
        leave = fault.rng.randrange(0, 80) * free.f_frsize
        filler = disk / "filler"
        filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave)))
        ended = fault.run(name)
        fault.judge(f"{name} with {leave} bytes left", ended)
        filler.unlink()
        fault.mended(name)
        fault.world = plain
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def clock(fault: Fault) -> None:
    """Move the times of files: years back, or into a time to come."""
    for path in fault.rng.sample(_victims(fault), 12):
        at = time.time() + fault.rng.uniform(-30, 5) * YEAR
        os.utime(path, (at, at))
    name = fault.rng.choice(["run", "predict", "eval", "report", "verify", "bank verify"])
    ended = fault.run(name)
    fault.judge(name, ended)
    if ended.code:
        fault.wrong(f"{name} after the clock jumped: {ended.err[-200:]!r}")
    fault.compare(name, ("data/", "bank/", "answers.csv", "outputs/split", *SEED_1))


def together(fault: Fault, processes: int) -> None:
    """Let processes make the same at once."""
    name = fault.rng.choice(["run", "train", "split", "report", "keys", "predict", "bank export"])
    worlds.clear(fault.world, VERBS[name])
    begun = []
    for _ in range(processes):
        begun.append(fault.begin(name))
        begun[-1].limit *= processes
        time.sleep(fault.rng.uniform(0, fault.suite.seconds[name] / processes))
    for ended in [one.wait() for one in begun]:
        fault.judge(f"{processes} {name}", ended)
        if ended.code:
            fault.wrong(f"one of {processes} {name} ended with {ended.code}: {ended.err[-300:]!r}")
    fault.compare(f"{processes} {name} at once")


def two_settings(fault: Fault) -> None:
    """Let runs with other parameters use one folder: each is right or refused."""
    worlds.clear(fault.world, VERBS["run"])
    seeds = (42, 7)
    begun = []
    for seed in seeds:
        begun.append(fault.begin("run", lambda: None, "--set", f"split.seed={seed}"))
        begun[-1].limit *= 2
        time.sleep(fault.rng.uniform(0, 1.2) * fault.suite.seconds["run"])
    for seed, one in zip(seeds, begun, strict=True):
        ended = one.wait()
        fault.judge(f"run with split.seed={seed}", ended)
        if ended.code == 0:
            rows = [row["sha256"] for row in json.loads(ended.out)]
            right = fault.suite.shown if seed == 42 else fault.suite.other
            if rows != right:
                fault.wrong(f"run with split.seed={seed} printed the other's numbers")


def beside_dvc(fault: Fault) -> None:
    """Let `dvc repro` and `taamctl run` make the same at once."""
    if shutil.which("dvc") is None:
        fault.outcome = "not tried"
        return
    worlds.run_now(fault.world, ("init", *RUN, "--force"))
    worlds.clear(fault.world, VERBS["run"])
    environment = {**os.environ, "DVC_NO_ANALYTICS": "1"}
    repro = subprocess.Popen(
        ["dvc", "repro"],
        cwd=fault.world,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(fault.rng.uniform(0, 20))
    ended = worlds.start(fault.world, ("run", "--json"), 600.0).wait()
    _, said = repro.communicate()
    fault.judge("run beside dvc repro", ended)
    if repro.returncode and "Traceback" in said:
        fault.wrong(f"dvc repro beside run: {said[-300:]!r}")
    if subprocess.run(
        ["dvc", "repro"], cwd=fault.world, env=environment, capture_output=True
    ).returncode:
        fault.wrong("the next dvc repro failed")
    fault.compare("dvc repro", SEED_1)


KINDS: dict[str, tuple[int, Callable[[Fault], None]]] = {
    "kill": (26, killed),
    "bit flip": (12, lambda fault: rotten(fault, "bit")),
    "zeroed block": (10, lambda fault: rotten(fault, "block")),
    "cut short": (8, lambda fault: rotten(fault, "cut")),
    "changed digit": (8, lambda fault: rotten(fault, "digit")),
    "swapped": (7, swapped),
    "stale record": (5, stale),
    "file size": (5, lambda fault: limited(fault, "file size")),
    "full disk": (4, full_disk),
    "read-only folder": (4, lambda fault: limited(fault, "read-only folder")),
    "few handles": (4, lambda fault: limited(fault, "few handles")),
    "little memory": (4, lambda fault: limited(fault, "little memory")),
    "clock": (3, clock),
    "two at once": (3, lambda fault: together(fault, 2)),
    "eight at once": (1, lambda fault: together(fault, 8)),
    "two settings": (3, two_settings),
    "beside dvc": (0, beside_dvc),
}


class Suite:
    """The undisturbed world, and what is to come out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world, self.seconds = worlds.make_world(folder)
        self.right = worlds.content(self.world)
        self.shown = self._shown()
        self.other = self._shown("--set", "split.seed=7", "--outputs", "../other")
        shutil.rmtree(folder / "other")

    def _shown(self, *more: str) -> list[str]:
        ended = worlds.run_now(self.world, (*VERBS["run"].words, *more))
        return [row["sha256"] for row in json.loads(ended.out)]

    def limit(self, name: str) -> float:
        """Return the seconds after which a verb counts as hung."""
        return HANG * max(1.0, self.seconds["run"] / 2) + 5 * self.seconds[name]

    def bytes_of(self, name: str) -> bytes:
        return (self.world / name).read_bytes()

    def one(self, kind: str, number: int, seed: int) -> Fault:
        """Inject one fault into a copy of the world."""
        world = self.folder / f"fault-{number}"
        shutil.copytree(self.world, world)
        fault = Fault(kind, number, random.Random(f"{seed} {number}"), self, world)
        try:
            KINDS[kind][1](fault)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            fault.wrong(f"the suite itself: {type(error).__name__}: {error}")
        for path in (*self.folder.glob(f"fault-{number}*"),):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return fault


def chosen(faults: int, seed: int, with_dvc: int) -> Iterator[tuple[int, str]]:
    """Yield the kinds in a mixed order, each as often as its share."""
    rng = random.Random(f"kinds {seed}")
    names = [name for name in KINDS if KINDS[name][0]]
    order = [*names]  # each once at least
    shares = [KINDS[name][0] for name in names]
    order += rng.choices(names, shares, k=max(0, faults - len(order)))
    order = order[:faults]
    rng.shuffle(order)
    yield from enumerate(order + ["beside dvc"] * with_dvc)


def main() -> int:
    """Inject faults and print figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, help="only this kind")
    parser.add_argument("--only", type=int, help="only the fault of this number")
    parser.add_argument("--dvc", type=int, default=0, help="so many times beside dvc repro")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no fault after that")
    parser.add_argument("--jobs", type=int, default=2, help="faults at a time")
    given = parser.parse_args()
    worlds.preload()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        Path(folder).chmod(0o755)
        suite = Suite(Path(folder))
        print(f"the undisturbed world took {time.monotonic() - began:.0f} s", flush=True)
        wanted = [
            (number, kind)
            for number, kind in chosen(given.faults, given.seed, given.dvc)
            if given.kind in (None, kind) and given.only in (None, number)
        ]
        end = began + given.seconds
        workers = [
            _worker(suite, wanted[k :: given.jobs], given.seed, end) for k in range(given.jobs)
        ]
        ended = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid, _ in workers]
        faults = [Told(*made) for _, file in workers for made in json.loads(file.read_text())]
    return _print(faults, time.monotonic() - began) or int(any(ended))


class Told(NamedTuple):
    """What became of a fault."""

    kind: str
    outcome: str
    told: list[str]


def _worker(suite: Suite, wanted: list[tuple[int, str]], seed: int, end: float) -> tuple[int, Path]:
    """Inject faults in a process of its own; return it, and the file with what became of them."""
    file = suite.folder / f"worker-{wanted[0][0] if wanted else 'none'}.json"
    pid = os.fork()
    if pid:
        return pid, file
    code, found = 1, []
    try:
        for number, kind in wanted:
            if time.monotonic() > end:
                break
            fault = suite.one(kind, number, seed)
            found.append((kind, fault.outcome, fault.told))
            for line in fault.told:
                print(f"fault {number}, {kind}: {line}", flush=True)
        code = 0
    finally:
        file.write_text(json.dumps(found))
        os._exit(code)


def _print(faults: list[Told], seconds: float) -> int:
    print(f"{'kind':18}{'faults':>8}{'done':>8}{'refused':>9}{'killed':>8}{'wrong':>8}")
    for kind in KINDS:
        mine = [fault for fault in faults if fault.kind == kind]
        ends = Counter(fault.outcome for fault in mine)
        wrong = sum(bool(fault.told) for fault in mine)
        if mine:
            print(
                f"{kind:18}{len(mine):8}{ends['done']:8}{ends['refused']:9}{ends['killed']:8}{wrong:8}"
            )
    wrong = sum(bool(fault.told) for fault in faults)
    print(f"{len(faults)} faults in {seconds:.0f} s, {wrong} with a violation")
    return int(wrong > 0)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
    sys.exit(130)
