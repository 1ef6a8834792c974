"""Tie nodes without a neighbour to random ones: the graph that the LS profile is made on."""

from __future__ import annotations

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.propagation.operator import NO_PAIRS, Operator


def reconnected(
    operator: Operator, low: int, high: int, group: int, seed: int
) -> tuple[Array, Array]:
    """Tie every node whose only in-edge is its self-loop to a random connected node of its group,
    in both directions.

    Args:
        low, high: the group's rows. group: its number.

    Returns:
        The entries (row, column) that this adds, each once and none that is there already.
    """
    a = operator.adjacency
    proper = np.diff(a.indptr[low : high + 1]) > 1
    connected = np.flatnonzero(proper) + low
    alone = np.flatnonzero(~proper) + low
    if not len(connected) or not len(alone):
        return NO_PAIRS
    partner = numpy_generator(seed, "ls_reconnect", group).choice(connected, len(alone))
    known = np.array(
        [_has(a, int(p), int(s)) for p, s in zip(partner, alone, strict=True)], bool
    )  # an out-edge of a node without in-edges
    return np.concatenate([alone, partner[~known]]), np.concatenate([partner, alone[~known]])


def _has(a: CSR, row: int, column: int) -> bool:
    own = a.indices[a.indptr[row] : a.indptr[row + 1]]
    at = int(np.searchsorted(own, column))
    return at < len(own) and int(own[at]) == column
