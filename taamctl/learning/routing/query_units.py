"""Query units: the sets of nodes that one task-ID decision is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array


@dataclass(frozen=True)
class Unit:
    """A kind of unit.

    Attributes:
        kind: `graph` (all nodes of a query graph), `component` (a connected component), `batch`
            (the next `size` nodes to arrive) or `node`.
        size: B of a batch; 0 elsewhere.
    """

    kind: str
    size: int = 0

    @property
    def label(self) -> str:
        """Return the name that tables show."""
        return f"batch {self.size}" if self.kind == "batch" else self.kind


def all_units(batches: tuple[int, ...]) -> tuple[Unit, ...]:
    """Return every unit, from the most nodes to one."""
    return (
        Unit("graph"),
        Unit("component"),
        *(Unit("batch", b) for b in reversed(batches)),
        Unit("node"),
    )


def assign(unit: Unit, edges: Any, seed: int) -> Array:
    """Return the unit of every node of one query graph, [N] int64 in 0..U-1.

    Args:
        edges: scipy CSR [N, N] of the query graph.
        seed: of the order in which nodes arrive; a graph's own order would sort them by task.
    """
    n = edges.shape[0]
    if unit.kind == "graph":
        return np.zeros(n, np.int64)
    if unit.kind == "node":
        return np.arange(n, dtype=np.int64)
    if unit.kind == "component":
        from scipy.sparse.csgraph import connected_components

        return np.asarray(
            connected_components(edges, directed=True, connection="weak")[1], np.int64
        )
    arrival = numpy_generator(seed, "arrival").permutation(n)
    out = np.empty(n, np.int64)
    out[arrival] = np.arange(n) // unit.size
    return out


def means(values: Array, unit: Array) -> Array:
    """Return the mean of [N, K] values over every unit, [U, K] float64."""
    count = int(unit.max()) + 1 if len(unit) else 0
    if count == len(unit) and np.array_equal(unit, np.arange(count)):
        return np.asarray(values, np.float64)
    import scipy.sparse as sp

    members = sp.csr_matrix(
        (np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=(count, len(unit))
    )
    return np.asarray((members @ values) / np.asarray(members.sum(1)), np.float64)
