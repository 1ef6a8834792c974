"""How long work tells what it is doing: library code calls this, the command line draws it."""

from __future__ import annotations


class Progress:
    """Receive progress; this base class is silent, for library use and tests."""

    def start(self, label: str, total: int) -> None:
        """Begin a piece of work of `total` steps."""

    def advance(self, steps: int = 1) -> None:
        """Report that `steps` more steps are done."""

    def line(self, text: str) -> None:
        """Report one finished unit (a task, a block) in words."""

    def finish(self) -> None:
        """End the current piece of work."""


SILENT = Progress()
