"""Where numbers go while training runs: the option `--live`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from taamctl.runtime.job import Context


@dataclass(frozen=True)
class Listening:
    """Who listens to training."""

    live: Annotated[
        Path | None,
        Option("--live", metavar="FOLDER", help="Write losses there while training (DVCLive)."),
    ] = None

    def to(self, context: Context) -> Context:
        """Return a context that writes the losses of finished tasks, where that was asked for.

        Raises:
            TaamctlError: DVCLive is not installed.
        """
        if self.live is None:
            return context
        from taamctl.pipeline import loss_log, walk

        folders = [context.layout.checkpoints(*which) for which in walk.runs(context)]
        shown = loss_log.LossLog(context.progress, folders, loss_log.begun(self.live))
        return replace(context, progress=shown)
