"""Rows of one logit scope: a method judged among its own task's classes has an easier task than one
judged among all classes, so that side by side they would look like a ranking. Pure functions.
"""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.report.report_rows import SeedsRow

EVERY = "all_seen"  # every evaluation has it


def common(rows: Sequence[SeedsRow]) -> str:
    """Return the scope that the rows share, or that of all classes seen where they do not."""
    scopes = {row.scope for row in rows}
    if len(scopes) == 1:
        return scopes.pop()
    return EVERY


def is_another(rows: Sequence[SeedsRow]) -> bool:
    """Tell whether any row's numbers are in another scope than its method's own."""
    return any(row.own_scope not in ("", row.scope) for row in rows)
