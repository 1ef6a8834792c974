"""Something that a plan or the doctor found: how bad it is, and what to change."""

from __future__ import annotations

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
