"""Columns of features that number the nodes, or look as if they named them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from taamctl.core.types import Array
from taamctl.importing.messages import quoted
from taamctl.importing.node_ids import FEW, are_whole

EXACT = 1 << 24  # whole numbers up to here are exact in float32


def numbers_of_rows(cell: Mapping[str, Array], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that number the nodes, and are no features: every whole number from 0 to
    N-1 once, in any order, or 1 to N in the order of the rows.
    """
    return tuple(name for name in names if _numbers_nodes(cell[name]))


def _numbers_nodes(column: Array) -> bool:
    if not _differ(column):
        return False
    rows = np.arange(len(column))
    return np.array_equal(column, rows + 1) or np.array_equal(np.sort(column), rows)


def like_ids(cell: Mapping[str, Array], names: Sequence[str], where: str) -> list[str]:
    """Say which columns of features hold a different whole number for every node, and where
    float32 rounds whole numbers.
    """
    notes = []
    for name in names:
        column = cell[name]
        if _differ(column):
            notes.append(
                f"{where}: warning: {name!r} holds a different whole number for every node: is it "
                f"an id? It is taken as a feature; --ignore {quoted(name)} leaves it out"
            )
        whole = column.dtype.kind in "iu" and column.size
        if whole and max(-int(column.min()), int(column.max())) > EXACT:
            notes.append(
                f"{where}: warning: {name!r} holds whole numbers above {EXACT:,}, whose last "
                "digits float32 cannot hold"
            )
    return notes


def _differ(column: Array) -> bool:
    """Tell whether a column holds a different whole number for every node, of which there are
    enough.
    """
    if column.ndim != 1 or column.dtype.kind not in "iuf" or len(column) < FEW:
        return False
    return are_whole(column) and len(np.unique(column)) == len(column)
