"""How far a long command is, in runs, and how long the rest may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from taamctl.runtime.job import Outcome


@dataclass
class Countdown:
    """Says a line before every run, with the time left once a run was computed anew.

    Attributes:
        tell: takes the line. total: runs in all.
        done, fresh: runs that are over, and those of them that were not there before.
    """

    tell: Callable[[str], None]
    total: int
    done: int = 0
    fresh: int = 0
    began: float = field(default_factory=time.perf_counter)

    def begin(self, what: str) -> None:
        """Say which run comes."""
        left = ""
        if self.fresh:
            each = (time.perf_counter() - self.began) / self.fresh
            left = f", about {each * (self.total - self.done) / 60:.0f} min left"
        self.tell(f"run {self.done + 1}/{self.total}: {what}{left}")

    def end(self, outcomes: Iterable[Outcome]) -> None:
        """Count a run, whose stages ended so."""
        self.done += 1
        self.fresh += not all(outcome.reused for outcome in outcomes)
