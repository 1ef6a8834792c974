"""Where text goes: data to stdout, everything for people to stderr; understandable without
colour.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from taamctl.core.progress import Progress

_bars: list[Any] = []  # on the screen now


def end_bars() -> None:
    """Remove the bars of work that was cut short, and show the cursor again."""
    while _bars:
        _bars.pop().stop()


def sheet() -> Any:
    """Return a rich console on stdout; a pipe has no width, so nothing is folded there."""
    from rich.console import Console

    out = Console(highlight=False, markup=False)
    return out if out.is_terminal else Console(highlight=False, markup=False, width=5000)


def say(line: str) -> None:
    """Write one line for people to stderr; work goes on where nobody can read it any more."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def show_error(message: str, hint: str) -> None:
    """Write an error and its hint to stderr."""
    say(f"error: {message}")
    if hint:
        say(f"hint: {hint}")


def make_progress(quiet: bool) -> Progress:
    """Return live progress on a terminal, one plain line per finished unit elsewhere, nothing
    when quiet.
    """
    if quiet:
        return Progress()
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()


class PlainProgress(Progress):
    """One line per finished unit, with an estimate of what is left."""

    def __init__(self) -> None:
        self.start("", 0)

    def start(self, label: str, total: int) -> None:
        """Begin counting."""
        self._total, self._done, self._began = total, 0, time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def line(self, text: str) -> None:
        """Print the unit and the estimate."""
        spent = time.perf_counter() - self._began
        left = spent / self._done * (self._total - self._done) if self._done else 0.0
        say(f"  {text}" + (f" (about {left:.0f} s left)" if self._done < self._total else ""))


class LiveProgress(Progress):
    """A bar with an estimate, finished units printed above it."""

    def start(self, label: str, total: int) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._bar: Any = Bar(
            TextColumn("  {task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(label, total=total)
        self._bar.start()
        _bars.append(self._bar)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        self._bar.advance(self._task, steps)

    def line(self, text: str) -> None:
        """Print a finished unit above the bar."""
        self._bar.console.print(f"  {text}", highlight=False, markup=False)

    def finish(self) -> None:
        """Remove the bar."""
        self._bar.stop()
        if self._bar in _bars:
            _bars.remove(self._bar)


class ByteProgress(Progress):
    """Show a download on stderr: a bar on a terminal, one plain line per file otherwise."""

    def start(self, label: str, total: int) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import DownloadColumn, TextColumn, TransferSpeedColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description}"),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task = self._bars.add_task(label, total=total or None)
        self._bars.start()

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        self._bars.advance(self._task, steps)

    def finish(self) -> None:
        """Remove the bar."""
        self._bars.stop()

    def line(self, text: str) -> None:
        """Print a finished file."""
        say(text)
