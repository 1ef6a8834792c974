"""AA of one mixed graph, from the lens, beside rows whose own AA is not defined. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from taamctl.report.lens_table import OWN, LensRow
from taamctl.report.report_rows import SeedsRow

UNROUTED = {"none": "no task ID", "given": "tasks given"}


def with_mixed(rows: Sequence[SeedsRow], units: Sequence[LensRow]) -> list[SeedsRow]:
    """Return the rows, those without a defined AA with that of one mixed graph where a lens has it.

    Args:
        units: rows of the lens. The first mixed one per node counts: the method's own router comes
            first. Where lenses of several settings fit a row, none is taken.
    """
    return [row if row.aa_defined else _completed(row, units) for row in rows]


def _completed(row: SeedsRow, units: Sequence[LensRow]) -> SeedsRow:
    found = [unit for unit in units if _fits(row, unit)]
    if not found or len({unit.settings for unit in found}) > 1:
        return row
    first = found[0]
    router = first.router.removeprefix(OWN)
    by = UNROUTED.get(first.router, f"a task ID per {first.unit} by {router}")
    return replace(row, aa_mixed=first.aa, aa_mixed_std=first.aa_std, mixed_by=by)


def _fits(row: SeedsRow, unit: LensRow) -> bool:
    same = ("dataset", "method", "profile", "averaging", "part", "seeds")
    if unit.scope != (row.own_scope or row.scope):
        return False
    measured = (unit.protocol, unit.unit, unit.mode) == ("mixed", "node", "hard")
    return measured and all(getattr(row, name) == getattr(unit, name) for name in same)
