"""How work shows on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from taamctl.cli.console import say
from taamctl.core.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

_on_screen: list[Bars] = []


def end_bars() -> None:
    """Remove the bars of work that was cut short, and show the cursor again."""
    while _on_screen:
        _on_screen.pop().stop()


def make_progress(quiet: bool) -> Progress:
    """Return live progress on a terminal, one plain line per finished unit elsewhere, nothing
    when quiet.
    """
    if quiet:
        return Progress()
    if sys.stderr.isatty():
        return LiveProgress()
    return PlainProgress()


class PlainProgress(Progress):
    """One line per finished unit, with an estimate of what is left."""

    def __init__(self) -> None:
        self.start("", 0)

    def start(self, label: str, total: int) -> None:
        """Begin counting."""
        self._total = total
        self._done = 0
        self._began = time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def line(self, text: str) -> None:
        """Print the unit and the estimate."""
        spent = time.perf_counter() - self._began
        missing = self._total - self._done
        left = 0.0
        if self._done:
            left = spent / self._done * missing
        estimate = ""
        if missing > 0:
            estimate = f" (about {left:.0f} s left)"
        say(f"  {text}{estimate}")


class LiveProgress(Progress):
    """A bar with an estimate, finished units printed above it."""

    def columns(self) -> tuple[ProgressColumn, ...]:
        """Return what stands on the bar's line."""
        from rich import progress

        return (
            progress.TextColumn("  {task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
        )

    def start(self, label: str, total: int) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        shown = sys.stderr.isatty()
        self._bars = Bars(*self.columns(), console=console, transient=True, disable=not shown)
        self._task = self._bars.add_task(label, total=total or None)
        self._bars.start()
        _on_screen.append(self._bars)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        self._bars.advance(self._task, steps)

    def line(self, text: str) -> None:
        """Print a finished unit above the bar."""
        self._bars.console.print(f"  {text}", highlight=False, markup=False)

    def finish(self) -> None:
        """Remove the bar."""
        self._bars.stop()
        if self._bars in _on_screen:
            _on_screen.remove(self._bars)


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
