"""Train in a process of its own, whose working folder holds one variant only, and note what else
training opens.

A process of its own, so that nothing remembered from another variant survives; predictions on the
variant's val and test nodes come before training, so that a method that remembers what it was asked
at test would train with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError

TRAIN = "from taamctl.audit.isolated import main; main()"
INTERRUPTED = 130


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
    opened: tuple[str, ...]


def train_apart(
    folder: Path, task: dict[str, Any], tell: Callable[[str], None]
) -> list[TrainingRun]:
    """Run `main` on a task in a new process with `folder` as its working folder.

    Args:
        task: `tree` (parameters), `outputs`, `rehearsal` (outputs with the trained methods that
            predict first, or ""), `dataset`, `module` (the data set's module, or ""), `runs`
            ([method, seed] each), `closed` (files and folders that training must not open) and
            `open` (those among them that it may).
        tell: receives the process's lines.
    """
    import yaml

    (folder / "task.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    paths = [
        os.path.abspath(p) for p in sys.path
    ]  # the working folder counts as the caller's, not the new one
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    last: list[str] = []
    try:
        assert process.stderr is not None
        for line in process.stderr:
            last = [*last[-19:], line.rstrip()]
            tell(line.rstrip())
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    result = folder / "result.yaml"
    if code or not result.is_file():
        raise TaamctlError(
            f"the training process of the audit ended with exit code {code}: {' '.join(last[-1:])}",
            "taamctl train on the same data set and method shows more",
        )
    return [
        TrainingRun(**{**t, "opened": tuple(t["opened"])})
        for t in yaml.safe_load(result.read_text(encoding="utf-8"))
    ]


class Watch:
    """Note which closed files the process opens while it looks."""

    def __init__(self, closed: Sequence[str], allowed: Sequence[str]) -> None:
        self._closed = tuple(os.path.realpath(p) for p in closed)
        self._allowed = {os.path.realpath(p) for p in allowed}
        self._seen: list[str] | None = None

    def install(self, module: str) -> None:
        """Hear of every file that Python or HDF5 opens, and of the data set's `load`; there is
        no way back.
        """
        import importlib

        import h5py

        sys.addaudithook(
            lambda event, arguments: self.note(arguments[0]) if event == "open" else None
        )
        opens = h5py.File.__init__  # the HDF5 library opens files past Python's hook

        def noted(file: Any, name: Any, *arguments: Any, **options: Any) -> None:
            self.note(name)
            opens(file, name, *arguments, **options)

        h5py.File.__init__ = noted
        if module:
            data = importlib.import_module(module)
            load = data.load

            def told(*arguments: Any, **options: Any) -> Any:
                if self._seen is not None:
                    self._seen.append(f"{module}.load")
                return load(*arguments, **options)

            data.load = told  # type: ignore[attr-defined]

    def note(self, name: Any) -> None:
        """Keep a path where it is a closed one."""
        if self._seen is None or not isinstance(name, (str, bytes, os.PathLike)):
            return
        path = os.path.realpath(os.fsdecode(name))
        if path not in self._allowed and any(
            path == c or path.startswith(c + os.sep) for c in self._closed
        ):
            self._seen.append(path)

    @contextmanager
    def looking(self) -> Iterator[list[str]]:
        """Note into the yielded list."""
        found: list[str] = []
        self._seen = found
        try:
            yield found
        finally:
            self._seen = None


def main() -> None:
    """Do the task that lies in the working folder."""
    import yaml

    task = yaml.safe_load(Path("task.yaml").read_text(encoding="utf-8"))
    try:
        found = _work(task)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    Path("result.yaml").write_text(yaml.safe_dump(found), encoding="utf-8")


def _work(task: dict[str, Any]) -> list[dict[str, Any]]:
    from taamctl.core import registry
    from taamctl.params.sections import Params
    from taamctl.runtime.job import Context
    from taamctl.runtime.layout import Layout
    from taamctl.stages import infer, train

    layout = Layout(Path(task["outputs"]))
    context = Context(params=Params("the audit's parameters", task["tree"]), layout=layout)
    watch = Watch(task["closed"], task["open"])
    watch.install(task["module"])
    opened: list[list[str]] = []
    for method, seed in task["runs"]:
        with watch.looking() as found:
            registry.load("taamctl.methods", method)
        opened.append(found)
        if task["rehearsal"]:
            before = Layout(Path(task["rehearsal"]), layout, ("split", "precompute"))
            error = _stopped(
                lambda m=method, s=seed, at=before: infer.run(  # type: ignore[misc]
                    Context(params=context.params, layout=at), task["dataset"], m, s
                )
            )
            if error["error"]:
                _say(f"  {method}: cannot predict before training ({error['error']})")
    told = []
    for (method, seed), before_training in zip(task["runs"], opened, strict=True):
        with watch.looking() as found:
            error = _stopped(lambda m=method, s=seed: train.run(context, task["dataset"], m, s))  # type: ignore[misc]
        told.append(
            {
                "method": method,
                "seed": seed,
                **error,
                "opened": list(dict.fromkeys([*before_training, *found])),
            }
        )
        _say(f"  {method}, seed {seed}: {error['error'] or 'trained'}")
    return told


def _stopped(work: Callable[[], Any]) -> dict[str, str]:
    """Do some work and return what stopped it, whatever a stranger's method raises."""
    try:
        work()
    except TaamctlError as error:
        return {"error": error.message, "hint": error.hint, "kind": type(error).__name__}
    except Exception as error:
        return {
            "error": f"{type(error).__name__}: {error}",
            "hint": "",
            "kind": type(error).__name__,
        }
    return {"error": "", "hint": "", "kind": ""}


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
