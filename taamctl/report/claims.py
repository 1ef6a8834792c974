"""Sentences that stand below a table only where they hold for its rows."""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.report.report_rows import RunRow, SeedsRow

Rows = Sequence[SeedsRow] | Sequence[RunRow]
SHOWN = 4  # rows named in one sentence


def of_task_ids(rows: Rows) -> list[str]:
    """Say what a query graph of one task's nodes does for task IDs, as the rows show it; nothing
    where none is inferred.
    """
    inferred = [r for r in rows if r.task_id_kind == "inferred" and r.task_id_accuracy is not None]
    if not inferred:
        return []
    holds = "Every query graph holds one task's nodes"
    if named := _wrong(inferred):
        more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
        return [
            f"{holds}; even so not every task ID is right ({', '.join(named[:SHOWN])}{more}): "
            "there AA and AF are those of the routing too, not of the method alone."
        ]
    if any(r.doubts for r in inferred):
        return [f"{holds}, and every task ID is right, though not safely (see the warning)."]
    return [f"{holds}, which is what makes a graph-level task ID easy."]


def _wrong(rows: Sequence[SeedsRow | RunRow]) -> list[str]:
    """Name the rows in which not every task ID is right, with the share that is."""
    shares = {f"{r.dataset} {r.name}": r.task_id_accuracy or 0.0 for r in rows}
    return [f"{name} {100 * share:.0f} %" for name, share in shares.items() if share < 1]


def of_missing_forgetting(rows: Rows) -> list[str]:
    """Return why a row has no AF, each reason once."""
    without = [len(r.matrix) for r in rows if r.af is None]
    reasons = []
    if any(tasks == 1 for tasks in without):
        reasons.append("where there is one task, nothing can be forgotten")
    if any(tasks > 1 for tasks in without):
        reasons.append("a method trained only at the last stage has no forgetting")
    return reasons
