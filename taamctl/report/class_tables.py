"""Accuracy per class of evaluated runs, as tables: what `taamctl eval --per-class` prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.report import details, leading, lens_table, report_rows
from taamctl.report.details import Cells
from taamctl.report.report_rows import read_evaluation, row_of
from taamctl.report.same_scope import EVERY
from taamctl.runtime import provenance


def of_runs(evaluations: Sequence[Path], decimals: int) -> dict[str, Cells]:
    """Return a table per data set; none for one whose evaluations do not name the classes.

    Args:
        evaluations: the eval.json files; a lens beside one adds what it gives on one mixed graph.
    """
    known = {provenance.sha256(path): read_evaluation(path) for path in evaluations}
    shown, _ = lens_table.files(evaluations)
    best = leading.of(lens_table.rows(shown))
    runs = [row_of(made, sha256, scope=EVERY) for sha256, made in known.items()]
    rows = report_rows.over_seeds(runs)
    found = {}
    for dataset in sorted({row.dataset for row in rows}):
        own = [row for row in rows if row.dataset == dataset]
        mixed = [each for each in best if each.dataset == dataset]
        table = details.classes(details.of_one_stream(own, known, mixed), decimals)
        if table is not None:
            found[dataset] = table
    return found


def notes(tables: dict[str, Cells]) -> list[str]:
    """Return what the numbers are, and how to get those of a mixed graph where they are missing."""
    lines = [
        "Per cent of a class's test nodes answered right after the last task, mean over seeds. "
        "grouped: a graph per task. mixed: one graph of all tasks' nodes, a decision for every "
        "node."
    ]
    if not any(name.endswith(", mixed") for table in tables.values() for name in table.columns):
        lines.append("For a mixed graph too: add --lens.")
    return lines
