"""The one logit scope of a report, of one method as of many: that of all classes seen.

A method judged among its own task's classes has an easier task than one judged among all classes,
so that side by side they would look like a ranking; and a number must not change because another
method came beside it. What a method gets in its own scope stands apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.report.report_rows import SeedsRow

EVERY = "all_seen"  # every evaluation has it


def is_another(rows: Sequence[SeedsRow]) -> bool:
    """Tell whether any row's numbers are in another scope than its method's own."""
    return any(row.own_scope not in ("", row.scope) for row in rows)
