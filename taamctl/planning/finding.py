"""Something that a plan or the doctor found: how bad it is, and what to change."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

STOP, WARN, NOTE = "stop", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """Something to know or to change.

    Attributes:
        level: `stop` (the run would end in an error), `warning` or `note`.
        what: what was found. mend: what can be done about it.
        changes: parameters that are suggested, as `section.key=value`.
    """

    level: str
    what: str
    mend: str = ""
    changes: tuple[str, ...] = ()

    def free_changes(self, chosen: Container[str]) -> tuple[str, ...]:
        """Return the changes, or none where one is of a chosen `section.key`: they go together."""
        clash = any(change.partition("=")[0] in chosen for change in self.changes)
        return () if clash else self.changes

    def __str__(self) -> str:
        """Return it for people, the remedy on a line of its own."""
        mend = f"\n    {self.mend}" if self.mend else ""
        return f"{self.level}: {self.what}{mend}"
