"""How work shows on a terminal: a bar where something is counted, a spinner elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from taamctl.core.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

_on_screen: list[Bars] = []


def end_bars() -> None:
    """Remove the bars of work that was cut short, and show the cursor again."""
    while _on_screen:
        _on_screen.pop().stop()


class LiveProgress(Progress):
    """A bar with an estimate, finished units printed above it; a spinner where nothing is
    counted.
    """

    def __init__(self) -> None:
        self._about = ""
        self._spinner: Bars | None = None

    def about(self, what: str) -> None:
        """Put the run's name before the bar."""
        self._about = what

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Turn a spinner until a bar begins or the work is done."""
        from rich import progress

        columns = (progress.SpinnerColumn(), progress.TextColumn("{task.description}"))
        self._spinner = self._shown(what, None, (*columns, progress.TimeElapsedColumn()))
        try:
            yield
        finally:
            self._still()

    def _still(self) -> None:
        """Stop the spinner."""
        if self._spinner is not None:
            self._removed(self._spinner)
            self._spinner = None

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
        self._still()
        name = f"{self._about} {label}".strip()
        self._total = total
        self._bars = self._shown(name, total or None, self.columns())

    def _shown(self, label: str, total: int | None, columns: tuple[ProgressColumn, ...]) -> Bars:
        """Return bars that are on the screen, with one task."""
        from rich.console import Console
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        shown = sys.stderr.isatty()
        bars = Bars(*columns, console=console, transient=True, disable=not shown)
        self._task = bars.add_task(escaped(label), total=total)
        bars.start()
        _on_screen.append(bars)
        return bars

    def _removed(self, bars: Bars) -> None:
        bars.stop()
        if bars in _on_screen:
            _on_screen.remove(bars)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        self._bars.advance(self._task, steps)

    def skip(self, steps: int) -> None:
        """Make the bar shorter."""
        self._total -= steps
        self._bars.update(self._task, total=self._total)

    def line(self, text: str) -> None:
        """Print a finished unit above the bar."""
        self._bars.console.print(f"  {text}", highlight=False, markup=False)

    def finish(self) -> None:
        """Remove the bar."""
        self._removed(self._bars)


def escaped(label: str) -> str:
    """Return a label in which rich reads no markup."""
    from rich.markup import escape

    return escape(label)
