"""What numbers of a report cannot say, in sentences: an AA that is not defined, few test nodes, one
seed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_tables import percent

SHOWN = 8  # classes named in one sentence
UNDEFINED, MIXED = "*", "†"


def mark(row: SeedsRow) -> str:
    """Return the mark of an AA that test graphs of one class take part in; empty elsewhere."""
    return "" if row.aa_defined else UNDEFINED


def aa_cell(row: SeedsRow, decimals: int) -> str:
    """Return AA with its deviation over seeds and its interval over test nodes.

    Where it is not defined, the AA of one mixed graph stands in its place, marked so; without one,
    the number is marked.
    """
    aa = percent(*row.spread("aa"), decimals)
    if row.aa_defined:
        return aa + interval(row.aa_low, row.aa_high, decimals)
    if row.aa_mixed is None:
        return aa + UNDEFINED
    return percent(*row.spread("aa_mixed"), decimals) + MIXED


def interval(low: float | None, high: float | None, decimals: int) -> str:
    """Return ` (94.8 to 97.1)`; empty where there is none."""
    if low is None or high is None:
        return ""
    return f" ({percent(low, None, decimals)} to {percent(high, None, decimals)})"


def sentences(rows: Sequence[SeedsRow], decimals: int = 1) -> list[str]:
    """Return what the rows cannot say, each once."""
    return [*undefined(rows), *_mixed(rows, decimals), *_nodes(rows), *_thin(rows), *_seeds(rows)]


def undefined(rows: Sequence[SeedsRow]) -> list[str]:
    """Say which data sets have test graphs of one class, and what AA is there."""
    alone = {(r.dataset, tuple(r.one_class_tasks)) for r in rows if not r.aa_defined}
    return [
        f"*: not a meaningful AA: {dataset} has test graphs of one class (task "
        f"{', '.join(str(task + 1) for task in tasks)}), where it is task-ID accuracy (task_only) "
        "or one class's recall, not how well classes are told apart. Nor is AF."
        for dataset, tasks in sorted(alone)
    ]


def _mixed(rows: Sequence[SeedsRow], decimals: int) -> list[str]:
    out = []
    for row in (r for r in rows if not r.aa_defined):
        who = f"{row.dataset} {row.name}"
        if row.aa_mixed is None:
            options = f"--dataset {shlex.quote(row.dataset)} --method {shlex.quote(row.method)}"
            seeds = " ".join(f"--seed {seed}" for seed in row.seeds)
            out.append(
                f"{who}: AA of one graph that holds all tasks' nodes has a meaning: taamctl eval "
                f"--lens {options} {seeds}, then taamctl report."
            )
            continue
        grouped = percent(*row.spread("aa"), decimals)
        out.append(
            f"{MIXED}: AA of {who} in one graph that holds all tasks' nodes ({row.mixed_by}); "
            f"{grouped} with a graph per task."
        )
    return out


def _nodes(rows: Sequence[SeedsRow]) -> list[str]:
    if not any(row.aa_defined and row.aa_low is not None for row in rows):
        return []
    return [
        "(low to high): 95 % interval of AA that the number of test nodes leaves open, nodes drawn "
        "anew within their classes. All seeds have the same test nodes."
    ]


def _thin(rows: Sequence[SeedsRow]) -> list[str]:
    said: dict[str, None] = {}
    for row in rows:
        named = [
            f"{thin.name!r} ({thin.nodes}, {thin.points:.1f} points each)"
            for thin in row.thin_classes
        ]
        if named:
            more = f" and {len(named) - SHOWN} more" * (len(named) > SHOWN)
            said[
                f"{row.dataset}: classes with fewer than 10 test nodes, and what one node is worth "
                f"of AA: {', '.join(named[:SHOWN])}{more}."
            ] = None
    return [*said]


def _seeds(rows: Sequence[SeedsRow]) -> list[str]:
    if all(len(row.seeds) > 1 for row in rows):
        return []
    return [
        "One seed says nothing of what another seed would give, which may be some points away on a "
        "small graph: to tell methods apart, run more, such as --seed 1 --seed 2 --seed 3."
    ]
