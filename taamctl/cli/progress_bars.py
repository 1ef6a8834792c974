"""How work shows on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from taamctl.cli.console import say
from taamctl.cli.live_progress import LiveProgress
from taamctl.cli.plain_progress import PlainProgress
from taamctl.core.progress import Progress

if TYPE_CHECKING:
    from rich.progress import ProgressColumn


def make_progress(quiet: bool) -> Progress:
    """Return live progress on a terminal, one plain line per finished unit elsewhere, nothing
    when quiet.
    """
    if quiet:
        return Progress()
    if sys.stderr.isatty():
        return LiveProgress()
    return PlainProgress()


class ByteProgress(LiveProgress):
    """A download: a bar on a terminal, one plain line per file in any case."""

    def columns(self) -> tuple[ProgressColumn, ...]:
        """Return how many bytes are there, and how fast they come."""
        from rich import progress

        return (
            progress.TextColumn("{task.description}"),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
        )

    def line(self, text: str) -> None:
        """Print a finished file."""
        say(text)
