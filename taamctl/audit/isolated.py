"""Train in a process of its own, whose working folder holds one variant only, and note what else
training opens.

A process of its own, so that nothing remembered from another variant survives; predictions on the
variant's val and test nodes come before training, so that a method that remembers what it was asked
at test would train with it.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

import h5py
import yaml

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params.sections import Params
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout

TRAIN = "from taamctl.audit.isolated import main; main()"
INTERRUPTED = 130
TASK, RESULT = "task.yaml", "result.yaml"


class Task(TypedDict):
    """What a training process does.

    Keys: tree (parameters); outputs; rehearsal (outputs with the trained methods that predict
    first, or empty); dataset; module (the data set's, or empty); runs ([method, seed] each); closed
    (files and folders that training must not open); open (those among them that it may).
    """

    tree: Mapping[str, object]
    outputs: str
    rehearsal: str
    dataset: str
    module: str
    runs: list[list[object]]
    closed: list[str]
    open: list[str]


@dataclass(frozen=True)
class TrainingRun:
    """How one training run went.

    Attributes:
        error: what stopped it, and `hint`, the way out; empty where it came to its end. kind: the
            class of that error.
        opened: files of other variants that it opened, and `load` of the data set where it called
            that.
    """

    method: str
    seed: int
    error: str
    hint: str
    kind: str
    opened: list[str]


def train_apart(folder: Path, task: Task, tell: Callable[[str], None]) -> list[TrainingRun]:
    """Run `main` on a task in a new process with `folder` as its working folder.

    Args:
        tell: receives the process's lines.
    """
    (folder / TASK).write_text(yaml.safe_dump(dict(task)), encoding="utf-8")
    paths = [os.path.abspath(p) for p in sys.path]  # relative ones are the caller's
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    line = ""
    try:
        assert process.stderr is not None
        for line in process.stderr:
            tell(line.rstrip())
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    result = folder / RESULT
    if code or not result.is_file():
        raise TaamctlError(
            f"the training process of the audit ended with exit code {code}: {line.rstrip()}",
            "taamctl train on the same data set and method shows more",
        )
    return [TrainingRun(**run) for run in yaml.safe_load(result.read_text(encoding="utf-8"))]


class Watch:
    """Note which closed files the process opens while it looks."""

    def __init__(self, closed: Sequence[str], allowed: Sequence[str]) -> None:
        self._closed = tuple(os.path.realpath(p) for p in closed)
        self._allowed = {os.path.realpath(p) for p in allowed}
        self._seen: list[str] | None = None

    def install(self, module: str) -> None:
        """Notice every file that Python or HDF5 opens, and the data set's `load`; there is no way
        back.
        """

        def opening(event: str, arguments: tuple[object, ...]) -> None:
            if event == "open":
                self.note(arguments[0])

        sys.addaudithook(opening)
        opens = h5py.File.__init__  # the HDF5 library opens files past Python's hook

        def noted(file: h5py.File, name: object, *arguments: object, **options: object) -> None:
            self.note(name)
            opens(file, name, *arguments, **options)

        h5py.File.__init__ = noted
        if module:
            data = importlib.import_module(module)
            load = data.load

            def loading(*arguments: object, **options: object) -> object:
                if self._seen is not None:
                    self._seen.append(f"{module}.load")
                return load(*arguments, **options)

            data.load = loading  # type: ignore[attr-defined]

    def note(self, name: object) -> None:
        """Add a path where it is a closed one."""
        if self._seen is None or not isinstance(name, (str, bytes, os.PathLike)):
            return
        path = os.path.realpath(os.fsdecode(name))
        inside = any(path == c or path.startswith(c + os.sep) for c in self._closed)
        if inside and path not in self._allowed:
            self._seen.append(path)

    @contextmanager
    def looking(self) -> Iterator[list[str]]:
        """Note into the yielded list."""
        self._seen = []
        try:
            yield self._seen
        finally:
            self._seen = None


def main() -> None:
    """Do the task that lies in the working folder."""
    task: Task = yaml.safe_load(Path(TASK).read_text(encoding="utf-8"))
    try:
        results = [asdict(run) for run in _work(task)]
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    Path(RESULT).write_text(yaml.safe_dump(results), encoding="utf-8")


def _work(task: Task) -> list[TrainingRun]:
    from taamctl.stages import infer, train

    layout = Layout(Path(task["outputs"]))
    params = Params("the audit's parameters", task["tree"])
    context = Context(params=params, layout=layout)
    runs = [(str(method), int(str(seed))) for method, seed in task["runs"]]
    watch = Watch(task["closed"], task["open"])
    watch.install(task["module"])
    on_import: list[list[str]] = []
    for method, seed in runs:
        with watch.looking() as opened:
            registry.load("taamctl.methods", method)
        on_import.append(opened)
        if task["rehearsal"]:
            before = Layout(Path(task["rehearsal"]), layout, ("split", "precompute"))
            there = Context(params=params, layout=before)
            error, _, _ = _stopped(partial(infer.run, there, task["dataset"], method, seed))
            if error:
                _say(f"  {method}: cannot predict before training ({error})")
    results = []
    for (method, seed), before_training in zip(runs, on_import, strict=True):
        with watch.looking() as opened:
            error, hint, kind = _stopped(partial(train.run, context, task["dataset"], method, seed))
        files = list(dict.fromkeys([*before_training, *opened]))
        results.append(TrainingRun(method, seed, error, hint, kind, files))
        _say(f"  {method}, seed {seed}: {error or 'trained'}")
    return results


def _stopped(work: Callable[[], object]) -> tuple[str, str, str]:
    """Do some work and return what stopped it, whatever a stranger's method raises: message, hint
    and class of the error; empty where nothing did.
    """
    try:
        work()
    except TaamctlError as error:
        return error.message, error.hint, type(error).__name__
    except Exception as error:
        kind = type(error).__name__
        return f"{kind}: {error}", "", kind
    return "", "", ""


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
