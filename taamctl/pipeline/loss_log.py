"""Training losses handed on while training runs, by way of DVCLive.

After every finished task the losses of its epochs are read from its checkpoint. So nothing here
touches a byte of a result, and the tasks that a cluster or an earlier command finished are shown
too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.store.artefacts import Artefact
from taamctl.store.train_kind import CHECKPOINT

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dvclive import Live


def begun(folder: Path) -> Live:
    """Return a DVCLive log in a folder; it writes there alone.

    Raises:
        TaamctlError: DVCLive is not installed, or the folder cannot be written.
    """
    try:
        from dvclive import Live
    except ImportError:
        raise TaamctlError(
            "--live needs DVCLive, which is not installed", "pip install 'taamctl[live]'"
        ) from None
    if folder.exists() and not folder.is_dir():
        raise TaamctlError(f"--live {folder} is a file", "name a folder")
    # No dvc.yaml of its own, no experiment: taamctl's DAG has both.
    return Live(str(folder), save_dvc_exp=False, dvcyaml=None, resume=False)


class LossLog(Progress):
    """Hand progress on, and the losses of every task that is finished.

    Args:
        inner: what shows progress. folders: where the finished tasks of the runs are kept.
        log: receives `DATASET/METHOD/seed-N`, a number per epoch of all tasks, in order.
    """

    def __init__(self, inner: Progress, folders: list[Path], log: Live) -> None:
        self._inner = inner
        self._steps = dict.fromkeys(folders, 0)
        self._seen: set[Path] = set()
        self._log = log

    def about(self, what: str) -> None:
        """Hand it on."""
        self._inner.about(what)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Hand it on."""
        at_work: AbstractContextManager[None] = self._inner.during(what)
        with at_work:
            yield

    def start(self, label: str, total: int) -> None:
        """Hand it on."""
        self._inner.start(label, total)

    def advance(self, steps: int = 1) -> None:
        """Hand it on."""
        self._inner.advance(steps)

    def skip(self, steps: int) -> None:
        """Hand it on."""
        self._inner.skip(steps)

    def line(self, text: str) -> None:
        """Hand it on, and look for what was finished: a line is said of every task."""
        self._inner.line(text)
        for folder in self._steps:
            for file in sorted(folder.glob("task-*.h5")):
                if file not in self._seen:
                    self._seen.add(file)
                    self._write(folder, file)

    def finish(self) -> None:
        """Hand it on."""
        self._inner.finish()

    def _write(self, folder: Path, file: Path) -> None:
        try:
            with Artefact(file, CHECKPOINT) as task:
                losses = task.read("loss").tolist()
        except TaamctlError:  # put together, or damaged: training itself sees to that
            return
        name = "/".join(folder.parts[-3:])
        for loss in losses:
            self._steps[folder] += 1
            self._log.step = self._steps[folder]
            self._log.log_metric(name, loss)
        self._log.make_summary()
