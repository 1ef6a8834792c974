"""How work shows on stderr where that is no terminal: plain lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from taamctl.cli.console import say
from taamctl.core.progress import Progress

PATIENCE = 2.0  # seconds of silence


class PlainProgress(Progress):
    """One line per finished unit, with an estimate of what is left."""

    def __init__(self) -> None:
        self._about = ""
        self._quiet: threading.Timer | None = None
        self.start("", 0)

    def about(self, what: str) -> None:
        """Put the run's name before every line."""
        self._about = what

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Say what is at work where it has said nothing for a while."""
        self._quiet = threading.Timer(PATIENCE, say, [f"  {what}: at work"])
        self._quiet.daemon = True
        self._quiet.start()
        try:
            yield
        finally:
            self._quiet.cancel()

    def start(self, label: str, total: int) -> None:
        """Begin counting."""
        self._total = total
        self._done = 0
        self._began = time.perf_counter()

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def skip(self, steps: int) -> None:
        """Leave steps out of the estimate."""
        self._total -= steps

    def line(self, text: str) -> None:
        """Print the unit and the estimate."""
        if self._quiet is not None:
            self._quiet.cancel()
        spent = time.perf_counter() - self._began
        missing = self._total - self._done
        estimate = ""
        if missing > 0 and self._done:
            estimate = f" (about {spent / self._done * missing:.0f} s left)"
        name = f"[{self._about}] " * bool(self._about)
        say(f"  {name}{text}{estimate}")
