"""Query units: the sets of nodes that one task-ID decision is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


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
    by_batch = [Unit("batch", b) for b in reversed(batches)]
    return (Unit("graph"), Unit("component"), *by_batch, Unit("node"))


def assign(unit: Unit, edges: csr_matrix, seed: int) -> Array:
    """Return the unit of every node of one query graph, [N] int64 in 0..U-1.

    Args:
        edges: [N, N] of the query graph.
        seed: of the order in which nodes arrive; a graph's own order would sort them by task.
    """
    from scipy.sparse.csgraph import connected_components

    n = edges.shape[0]
    if unit.kind == "graph":
        return np.zeros(n, np.int64)
    if unit.kind == "node":
        return np.arange(n, dtype=np.int64)
    if unit.kind == "component":
        _, component = connected_components(edges, directed=True, connection="weak")
        return np.asarray(component, np.int64)
    arrival = numpy_generator(seed, "arrival").permutation(n)
    out = np.empty(n, np.int64)
    out[arrival] = np.arange(n) // unit.size
    return out


def means(values: Array, unit: Array) -> Array:
    """Return the mean of [N, K] values over every unit, [U, K] float64."""
    import scipy.sparse as sp

    n = len(unit)
    count = int(unit.max(initial=-1)) + 1
    if count == n and np.array_equal(unit, np.arange(count)):
        return np.asarray(values, np.float64)
    members = sp.csr_matrix((np.ones(n), (unit, np.arange(n))), shape=(count, n))
    return np.asarray((members @ values) / np.asarray(members.sum(1)), np.float64)
