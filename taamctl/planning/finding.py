"""Something that a plan or the doctor found: how bad it is, and what to change."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

STOP, WARN, NOTE = "stop", "warning", "note"


@dataclass(frozen=True)
class Tried:
    """One change that was measured on validation nodes.

    Attributes:
        change: as `section.key=value`; several that go together with a blank between them.
        before, after: AA of the linear probe without and with it, as fractions.
        low, high: the 95 % interval of the difference.
    """

    change: str
    before: float
    after: float
    low: float
    high: float

    @property
    def helps(self) -> bool:
        """Tell whether more than chance speaks for the change."""
        return self.low > 0

    def __str__(self) -> str:
        """Return it for people, in per cent."""
        gain, low, high = (
            f"{100 * v:+.1f}" for v in (self.after - self.before, self.low, self.high)
        )
        return (
            f"{worded(self.change)}: {gain} points ({low} to {high}), from "
            f"{100 * self.before:.1f} to {100 * self.after:.1f}"
        )


def worded(change: str) -> str:
    """Return `section.key: value` of a change, and of all that go together."""
    return " and ".join(setting.replace("=", ": ", 1) for setting in change.split(" "))


@dataclass(frozen=True)
class Finding:
    """Something to know or to change.

    Attributes:
        level: `stop` (the run would end in an error), `warning` or `note`.
        what: what was found. mend: what can be done about it.
        changes: parameters that are suggested, as `section.key=value`.
        tries: changes that may help, each alone; none is suggested before it was tried, but what
            `changes` has.
        tried: what came out of that.
    """

    level: str
    what: str
    mend: str = ""
    changes: tuple[str, ...] = ()
    tries: tuple[str, ...] = ()
    tried: tuple[Tried, ...] = ()

    def free_changes(self, chosen: Container[str]) -> tuple[str, ...]:
        """Return the changes, or none where one is of a chosen `section.key`: they go together."""
        clash = any(change.partition("=")[0] in chosen for change in self.changes)
        return () if clash else self.changes

    def __str__(self) -> str:
        """Return it for people, the remedy on a line of its own."""
        mend = f"\n    {self.mend}" if self.mend else ""
        return f"{self.level}: {self.what}{mend}"
