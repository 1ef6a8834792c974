"""Damage small whole files at random, and see that every reader reads or refuses them.

    python tests/fuzz.py --parser npz --inputs 100000 --seed 0 --jobs 2
    python tests/fuzz.py --inputs 300                    # every parser
    python tests/fuzz.py --parser npz --inputs 100000 --every 60   # tells its standing each minute
    python tests/fuzz.py --parser npz --first 41200 --inputs 58800   # goes on where that stopped

The inputs of a seed are always the same. They are read in worker processes whose memory is limited,
under a watchdog. Wrong is: an exception that is no TaamctlError, one without a message, an end of
the process, a hang, code of a file that runs, a file written outside. What is wrong is kept in
`--keep`, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import json
import math
import mmap
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fuzz_corpus
import fuzz_mutations

PARSERS = tuple(fuzz_corpus.MAKERS)
MEMORY = 2 << 30  # bytes of address space beyond what a worker has mapped before the first input
LONGEST = 1000  # characters of a line of a message
HANG = 20.0  # seconds for one input, of the processor: others may use the machine too
WAITS = 6 * HANG  # seconds for one input, whatever it does
FORK_CALLS = 500  # guarded readers that one process runs at most
STATE = struct.Struct("5q")  # the input at hand, refused, read, bytes at most, 1 at the end
PEAK = struct.Struct("q")
SLOTS = ("at", "refused", "read", "peak", "done")
LIBRARIES = {  # what a guarded process imports, imported before it is forked
    "dgl": ("torch", "dgl"),
    "parquet": ("pyarrow.parquet", "taamctl.importing.arrow_tables"),
    "mat": ("scipy.io", "taamctl.importing.mat_child"),
}
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "DGLBACKEND": "pytorch"}


# ------------------------------------------------------------------------------------- what is read


def _importer(kind: str) -> Callable[[list[Path]], None]:
    from taamctl.importing import importers

    def read(paths: list[Path]) -> None:
        importers.read("own", paths, kind=kind)

    return read


def _beside(option: str) -> Callable[[list[Path]], None]:
    """Return a reader of a table that is named beside a whole graph."""
    from taamctl.importing import importers

    folder = Path(tempfile.mkdtemp(dir=os.getcwd()))
    graph = fuzz_corpus.FORMATS.WRITERS["csv"](fuzz_corpus.FORMATS.Spec(), folder)

    def read(paths: list[Path]) -> None:
        importers.read("own", graph, kind="table", **{option: paths[0]})

    return read


def _params(paths: list[Path]) -> None:
    from taamctl.params import params_file, sections

    tree = params_file.read(paths[0])
    sections.check(str(paths[0]), tree, {})


def _set() -> Callable[[list[Path]], None]:
    import copy

    from taamctl.params import params_file, sections

    whole = params_file.read(params_file.PACKAGED)

    def read(paths: list[Path]) -> None:
        tree = copy.deepcopy(whole)
        # as a shell hands it over: what is no UTF-8 becomes surrogates
        params_file.set_value(tree, os.fsdecode(paths[0].read_bytes()))
        sections.check("params.yaml", tree, {})

    return read


def _manifest(paths: list[Path]) -> None:
    from taamctl.bank import config, manifest

    config.from_plain(manifest.read(paths[0]).config, str(paths[0]))


def _tar(paths: list[Path]) -> None:
    from taamctl.bank import transfer

    folder = paths[0].parent / "restored"
    try:
        transfer.restore(paths[0], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _h5(paths: list[Path]) -> None:
    from taamctl.datasets import _graph_rows, _imported

    _imported.module(paths[0])
    for _ in _graph_rows.features(paths[0]):
        pass
    _imported.read(paths[0])


def reader(parser: str) -> Callable[[list[Path]], None]:
    """Return what reads a parser's files."""
    if parser == "set":
        return _set()
    if parser in ("tasks", "split"):
        return _beside(parser)
    kinds = {"labels": "mtx", "parquet": "table"}
    if parser in kinds:
        return _importer(kinds[parser])
    own = {"params": _params, "manifest": _manifest, "tar": _tar, "h5": _h5}
    return own.get(parser) or _importer(parser)


# --------------------------------------------------------------------------------------- the inputs


@dataclass
class Case:
    """A folder with whole files; the ones that are damaged, and what is named to the reader."""

    folder: Path
    files: dict[str, bytes]
    named: list[str]


def cases(parser: str, root: Path) -> list[Case]:
    """Return the whole files of a parser, made in `root` where they are not there."""
    if not root.exists():
        fuzz_corpus.MAKERS[parser](root)
    found = []
    for folder in sorted(root.iterdir()):
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        named = sorted({name.split("/")[0] for name in files})
        found.append(Case(folder, files, named))
    return found


def drawn(parser: str, seed: int, at: int, known: list[Case]) -> tuple[Case, str, bytes]:
    """Return input number `at`: a case, the file that is damaged, and its content."""
    draw = random.Random(f"{seed}/{parser}/{at}")
    case = draw.choice(known)
    name = draw.choice(sorted(case.files))
    others = [content for other in known for content in other.files.values()]
    content = fuzz_mutations.mutant(draw, case.files[name], others)
    if parser == "manifest" and draw.random() < 0.7:
        content = _with_digest(content)
    return case, name, content


def _with_digest(content: bytes) -> bytes:
    """Make the checksum of a manifest right again, where it is JSON."""
    from taamctl.bank import manifest

    try:
        record = json.loads(content)
        record["digest"] = manifest.digest_of(record)
        return json.dumps(record).encode()
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError):
        return content


# ---------------------------------------------------------------------------------------- a worker


def work(parser: str, seed: int, first: int, last: int, step: int, corpus: Path) -> None:
    """Read inputs first, first + step, ... below `last`; the state of that lies in `state`."""
    os.environ.update(QUIET)
    known = cases(parser, corpus)
    with Path("state").open("r+b") as stream:
        state = mmap.mmap(stream.fileno(), STATE.size)
    at, refused, read, peak, _ = STATE.unpack(state[:])
    for library in LIBRARIES.get(parser, ()):
        importlib.import_module(library)
    call = reader(parser)
    _warm(parser, call, known)
    _limit_memory()
    _watch_files()
    for at in range(first, last, step):
        state[:] = STATE.pack(at, refused, read, peak, 0)
        case, name, content = drawn(parser, seed, at, known)
        path = Path(case.folder.name, name)
        path.write_bytes(content)
        wrong = _read_one(call, [Path(case.folder.name, each) for each in case.named])
        path.write_bytes(case.files[name])
        refused += wrong == ""
        read += wrong is None
        if wrong:
            print(json.dumps({"at": at, "wrong": wrong}), flush=True)
        peak = max(peak, _peak())
    state[:] = STATE.pack(at, refused, read, peak, 1)


def _peak() -> int:
    """Return the most bytes that this process or one that it started has had in memory."""
    import resource

    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(_Fork.peak, *(resource.getrusage(each).ru_maxrss * 1024 for each in who))


def _warm(parser: str, call: Callable[[list[Path]], None], known: list[Case]) -> None:
    """Read every whole file once: what is imported then counts as no memory of an input."""
    _fork_guarded()
    for case in known:
        shutil.copytree(case.folder, case.folder.name, dirs_exist_ok=True)
        _read_one(call, [Path(case.folder.name, each) for each in case.named])


def _fork_guarded() -> None:
    """Let the guarded readers run in a fork of this process: the same code, started faster."""
    from taamctl.importing import guarded

    guarded._launch = _Fork().launch


class _Fork:
    """A fork of this process that runs guarded readers one after the other, until one ends it.

    Attributes:
        peak: bytes that it had in memory at most, of all forks.
    """

    peak = 0

    def __init__(self) -> None:
        self._process = self._calls = 0

    def launch(self, arguments: list[str], seconds: int) -> str:
        """Run one reader; return how it ended, in words."""
        from taamctl.importing import guarded

        if not self._process or self._calls == FORK_CALLS:
            self._begin()
        self._calls += 1
        os.write(self._to, json.dumps(arguments).encode() + b"\n")
        begun, waits = time.monotonic(), min(seconds, HANG / 2)
        while not select.select([self._from], [], [], 0.5)[0]:
            if _too_long(self._process, begun, waits, WAITS / 2, self._used):
                self._stop_hanging()
        if peak := os.read(self._from, PEAK.size):
            _Fork.peak = max(_Fork.peak, *PEAK.unpack(peak))
            if time.monotonic() - begun > 0.5:
                self._used = _used(self._process)
            return guarded.how_it_ended(0)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        self._process = 0
        return guarded.how_it_ended(code)

    def _begin(self) -> None:
        """Start the fork; the one before is ended."""
        if self._calls:
            for end in (self._to, self._from):
                os.close(end)
        if self._process:
            os.waitpid(self._process, 0)
        (calls, self._to), (self._from, answers) = os.pipe(), os.pipe()
        self._calls, self._used = 0, 0.0
        self._process = os.fork()
        if self._process:
            os.close(calls)
            os.close(answers)
            return
        os.close(self._to)
        os.close(self._from)
        os.close(2)  # what a parser says before it stops
        faulthandler.register(signal.SIGUSR1, file=1)
        with contextlib.suppress(BaseException):
            _answer(calls, answers)
            os._exit(0)
        os._exit(1)

    def _stop_hanging(self) -> None:
        print("the guarded process hangs", flush=True)
        os.kill(self._process, signal.SIGUSR1)  # it says where
        time.sleep(0.5)
        os.kill(self._process, signal.SIGKILL)
        os._exit(77)


def _answer(calls: int, answers: int) -> None:
    """Run the readers that are named on one pipe, and say on the other one when each has ended."""
    from taamctl.importing import guarded_child

    with open(calls) as lines:
        for line in lines:
            words = json.loads(line)
            guarded_child.main(*words[:4], *map(int, words[4:]))
            os.write(answers, PEAK.pack(_peak()))


def _too_long(process: int, since: float, busy: float, waits: float, before: float = 0) -> bool:
    """Tell whether a process hangs.

    Args:
        since: when it began, on the monotonic clock. before: seconds of the processor by then.
        busy: seconds of the processor that it may take. waits: seconds that it may take in all.
    """
    passed = time.monotonic() - since
    return passed > waits or (passed > busy and _used(process) - before > busy)


def _used(process: int) -> float:
    """Return the seconds of the processor that a process has used, and those that it started."""
    import psutil

    try:
        root = psutil.Process(process)
        below = sum(sum(child.cpu_times()[:2]) for child in root.children())
        return float(sum(root.cpu_times()[:4]) + below)
    except psutil.NoSuchProcess:
        return 0.0


def _limit_memory() -> None:
    import resource

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))


def _watch_files() -> None:
    """Refuse to write outside this folder and the one for temporary files."""
    inside = (str(Path.cwd().resolve()) + os.sep, tempfile.gettempdir() + os.sep, os.devnull)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if writes and isinstance(path, (str, bytes)):
                where = os.path.realpath(os.fsdecode(path))
                if not where.startswith(inside):
                    raise SystemExit(f"wrote {where}")
        elif event in ("os.system", "os.exec", "os.posix_spawn", "socket.connect"):
            raise SystemExit(f"called {event}")

    sys.addaudithook(hook)


def _read_one(call: Callable[[list[Path]], None], paths: list[Path]) -> str | None:
    """Return None for files that were read, empty for a refusal, else what was wrong."""
    from taamctl.core.errors import TaamctlError

    try:
        call(paths)
    except TaamctlError as error:
        return _wrong_refusal(error)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "taamctl" in frame.filename or "stages" in frame.name]
        place = ours[-1] if ours else frames[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        last = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        return f"{type(error).__name__} at {where} ({last}): {str(error)[:200]}"
    return None


def _wrong_refusal(error: Any) -> str:
    """Return empty for a refusal that says what and where in a readable length."""
    if not error.message.strip():
        return "TaamctlError without a message"
    longest = max(error.message.split("\n"), key=len)
    if len(longest) > LONGEST:
        return f"TaamctlError with a line of {len(longest):,} characters: {longest[:80]}"
    return ""


# -------------------------------------------------------------------------------------- the command


@dataclass
class Result:
    """What became of the inputs of a parser."""

    parser: str
    inputs: int = 0
    refused: int = 0
    read: int = 0
    wrong: list[tuple[int, str]] = field(default_factory=list)
    peak: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """Return it as a line."""
        return (
            f"{self.parser:9} {self.inputs:7,} inputs: {self.refused:7,} refused, {self.read:7,} "
            f"read, {len(self.wrong):4,} wrong; {self.peak >> 20:5,} MiB, {self.seconds:6.1f} s"
        )


def fuzz(
    parser: str,
    inputs: int,
    seed: int,
    jobs: int,
    keep: Path | None = None,
    first: int = 0,
    every: float = math.inf,
) -> Result:
    """Read `inputs` inputs of a seed from number `first` on, in `jobs` processes at once.

    Args:
        every: seconds after which the standing is printed.
    """
    result, begun = Result(parser), time.monotonic()
    told = begun
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        cases(parser, root / "corpus")
        last = first + inputs
        running = [_Worker(parser, seed, first + k, last, jobs, root) for k in range(jobs)]
        while running:
            time.sleep(0.02)
            running = [worker for worker in running if not worker.over(result)]
            if running and time.monotonic() - told > every:
                told = time.monotonic()
                print(_standing(result, running, told - begun), flush=True)
        outside = [p for p in root.rglob("*") if p.name in (fuzz_corpus.CANARY, "outside")]
        outside += [p for p in (Path("/tmp/outside"), root.parent / "outside") if p.exists()]
        result.wrong += [(-1, f"made {path}") for path in outside]
        if keep is not None:
            _keep(result, seed, root / "corpus", keep)
    result.seconds = time.monotonic() - begun
    return result


class _Worker:
    """A process that reads every `jobs`-th input; it is started again behind one that ends it."""

    def __init__(
        self, parser: str, seed: int, first: int, last: int, jobs: int, root: Path
    ) -> None:
        self._call = (parser, seed, last, jobs, root)
        self._folder = root / f"worker-{first}"
        self._folder.mkdir()
        (self._folder / "state").write_bytes(STATE.pack(first, 0, 0, 0, 0))
        self._seen, self._since, self._before = -1, time.monotonic(), 0.0
        self._start(first)

    def _start(self, first: int) -> None:
        parser, seed, last, jobs, root = self._call
        job = [parser, seed, first, last, jobs, str(root / "corpus")]
        self._output = (self._folder / "output").open("w+")
        self._begun = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--work", json.dumps(job)],
            cwd=self._folder,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **QUIET},
        )

    def standing(self) -> dict[str, int]:
        """Return the input at hand and the counts so far."""
        content = (self._folder / "state").read_bytes()
        return dict(zip(SLOTS, STATE.unpack(content), strict=True))

    def over(self, result: Result) -> bool:
        """Tell whether all inputs are read, after a look at the process; what it found goes into
        `result`.
        """
        ended = self._process.poll() is not None
        state, now = self.standing(), time.monotonic()  # what an ended process wrote is whole
        if state["at"] != self._seen:
            self._seen, self._since = state["at"], now
            self._before = _used(self._process.pid)
        since = max(self._since, self._begun + 10)
        hangs = not ended and _too_long(self._process.pid, since, HANG, WAITS, self._before)
        if not ended and not hangs:
            return False
        if hangs:
            self._process.kill()
            self._process.wait()
        said = self._said(result)
        if not state["done"]:
            why = "hangs" if hangs else f"ends with {self._process.returncode}"
            result.wrong.append((state["at"], f"{why}: {said[-300:]}"))
            result.inputs += 1
            _, _, last, jobs, _ = self._call
            if state["at"] + jobs < last:
                self._go_on(state, state["at"] + jobs)
                return False
        result.inputs += state["refused"] + state["read"]
        result.refused += state["refused"]
        result.read += state["read"]
        return True

    def _go_on(self, state: dict[str, int], at: int) -> None:
        """Start a process for the inputs from `at` on."""
        counts = (state["refused"], state["read"], state["peak"])
        (self._folder / "state").write_bytes(STATE.pack(at, *counts, 0))
        self._start(at)

    def found(self) -> list[tuple[int, str]]:
        """Return what the process at hand found wrong so far."""
        lines = (self._folder / "output").read_text(errors="replace").splitlines(keepends=True)
        told = [json.loads(each) for each in lines if each.startswith('{"at"') and "\n" in each]
        return [(one["at"], one["wrong"]) for one in told]

    def _said(self, result: Result) -> str:
        """Take what a process found wrong; return what else it said."""
        self._output.seek(0)
        rest = []
        for line in self._output:
            if line.startswith('{"at"'):
                found = json.loads(line)
                result.wrong.append((found["at"], found["wrong"]))
                result.inputs += 1
            else:
                rest.append(line)
        self._output.close()
        result.peak = max(result.peak, self.standing()["peak"])
        return "".join(rest).strip()


def _standing(result: Result, running: list[_Worker], seconds: float) -> str:
    """Return how far a run is, what it found wrong, and where another one goes on from there."""
    counts = [worker.standing() for worker in running]
    known = Result(
        result.parser,
        refused=result.refused + sum(count["refused"] for count in counts),
        read=result.read + sum(count["read"] for count in counts),
        wrong=result.wrong + [fault for worker in running for fault in worker.found()],
        peak=max([result.peak, *(count["peak"] for count in counts)]),
        seconds=seconds,
    )
    known.inputs = known.refused + known.read + len(known.wrong)
    following = min(count["at"] for count in counts)
    return "\n".join([f"{known.line()}; go on with --first {following}", *_summary(known)])


def _keep(result: Result, seed: int, corpus: Path, keep: Path) -> None:
    """Write what was wrong: the damaged file, its neighbours, and what happened."""
    known = cases(result.parser, corpus)
    for at, wrong in result.wrong[:200]:
        if at < 0:
            continue
        folder = keep / f"{result.parser}-{seed}-{at}"
        case, name, content = drawn(result.parser, seed, at, known)
        shutil.copytree(case.folder, folder, dirs_exist_ok=True)
        (folder / name).write_bytes(content)
        (folder / "WRONG.txt").write_text(ascii(f"{name}: {wrong}"), encoding="ascii")


def _summary(result: Result) -> Iterator[str]:
    """Yield every kind of fault once, with how often and a number of an input."""
    kinds: Counter[str] = Counter()
    first: dict[str, tuple[int, str]] = {}
    for at, wrong in result.wrong:
        kind = wrong.split(": ")[0]
        kinds[kind] += 1
        first.setdefault(kind, (at, wrong))
    for kind, count in kinds.most_common(60):
        yield f"    {count:5,} x {first[kind][1]} (input {first[kind][0]})"


def main() -> int:
    """Run the command; return the exit code."""
    call = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    call.add_argument("--parser", action="append", choices=PARSERS, help="default: all")
    call.add_argument("--inputs", type=int, default=300)
    call.add_argument("--first", type=int, default=0, help="number of the first input")
    call.add_argument("--every", type=float, default=60.0, help="seconds between two standings")
    call.add_argument("--seed", type=int, default=0)
    call.add_argument("--jobs", type=int, default=1)
    call.add_argument("--keep", type=Path, help="folder for the inputs that were wrong")
    call.add_argument("--work", help=argparse.SUPPRESS)
    chosen = call.parse_args()
    if chosen.work:
        *numbers, corpus = json.loads(chosen.work)
        work(*numbers, Path(corpus))
        return 0
    wrong = 0
    for parser in chosen.parser or PARSERS:
        numbers = (chosen.inputs, chosen.seed, chosen.jobs)
        result = fuzz(parser, *numbers, chosen.keep, chosen.first, chosen.every)
        print("\n".join([result.line(), *_summary(result)]), flush=True)
        wrong += len(result.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
