"""How long work tells what it is doing: library code calls this, the command line draws it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Progress:
    """Receive progress; this base class is silent, for library use and tests."""

    def about(self, what: str) -> None:
        """Name the run that comes next, and its place in the whole; empty: nothing is named."""

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Show that something is at work as long as the block runs."""
        yield

    def start(self, label: str, total: int) -> None:
        """Begin a piece of work of `total` steps."""

    def advance(self, steps: int = 1) -> None:
        """Report that `steps` more steps are done."""

    def skip(self, steps: int) -> None:
        """Report that `steps` need not be done: they say nothing of how long the others take."""
        self.advance(steps)

    def line(self, text: str) -> None:
        """Report one finished unit (a task, a block) in words."""

    def finish(self) -> None:
        """End the current piece of work."""


SILENT = Progress()
