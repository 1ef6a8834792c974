"""Edges that come a range of rows at a time: what a data set offers whose edges need not be in
memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np

from taamctl.core.errors import MEND, TaamctlError
from taamctl.core.ranges import ranges
from taamctl.core.rows import FeatureRows, of_whole
from taamctl.core.types import CSR, PARTS, Array, Given, NodeGraph, require_fitting

RANGE = 1 << 22  # entries that are looked at at once
Read = Callable[[int, int], Array]


@dataclass(frozen=True)
class EdgeRows:
    """A binary [N, N] adjacency, whose column ids are read a range at a time; they ascend inside a
    row.

    Attributes:
        indptr: [N + 1] int64, row boundaries.
        opened: begins a pass; entries [low, high) are then asked for in order, each [n] int32.
        held: the same in memory, where it is there anyway.
    """

    indptr: Array
    opened: Callable[[], AbstractContextManager[Read]]
    held: CSR | None = None

    @property
    def num_nodes(self) -> int:
        """Return N."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Return the number of stored entries."""
        return int(self.indptr[-1])

    def blocks(self, first: int = 0) -> Iterator[tuple[int, int, Array]]:
        """Yield row ranges [low, high) from row `first` on, each with its entries' column ids.

        Raises:
            TaamctlError: a column id that is no node.
        """
        with self.opened() as read:
            for low, high in ranges(self.indptr[first:], RANGE):
                a, b = int(self.indptr[first + low]), int(self.indptr[first + high])
                columns = read(a, b)
                if len(columns) and not 0 <= columns.min() <= columns.max() < self.num_nodes:
                    raise TaamctlError(f"column ids lie outside 0..{self.num_nodes - 1}", MEND)
                yield first + low, first + high, columns

    def rows(self, low: int, high: int) -> Array:
        """Return the row of every entry of rows [low, high), int32."""
        lengths = np.diff(self.indptr[low : high + 1])
        return np.repeat(np.arange(low, high, dtype=np.int32), lengths)

    def whole(self) -> CSR:
        """Return all edges."""
        if self.held is not None:
            return self.held
        indices = np.empty(self.nnz, np.int32)
        for low, high, columns in self.blocks():
            indices[self.indptr[low] : self.indptr[high]] = columns
        return CSR(self.indptr, indices, None, (self.num_nodes, self.num_nodes))


def of_csr(adjacency: CSR) -> EdgeRows:
    """Return edges in memory as ranges, which are views."""

    def read(low: int, high: int) -> Array:
        return adjacency.indices[low:high]

    return EdgeRows(adjacency.indptr, lambda: nullcontext(read), adjacency)


@dataclass(frozen=True)
class GraphRows:
    """A whole graph of which nothing large need be in memory.

    Attributes:
        edges, features: a range of rows at a time.
        labels, class_names, notes, given: as of `NodeGraph`; names of nodes may be left out.

    Raises:
        TaamctlError: arrays that do not fit each other. Who passes over edges and features looks
            at them then.
    """

    edges: EdgeRows
    features: FeatureRows
    labels: Array
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    given: Given = field(default_factory=Given)

    def __post_init__(self) -> None:
        n, rows = self.edges.num_nodes, self.features.shape[0]
        if rows != n:
            raise TaamctlError(f"the graph: {rows} feature rows for {n} nodes", MEND)
        require_fitting("the graph", n, self.labels, len(self.class_names), self.given, len(PARTS))


def in_rows(graph: NodeGraph) -> GraphRows:
    """Return a graph in memory as one that comes in rows."""
    return GraphRows(
        of_csr(graph.adjacency),
        of_whole(graph.features),
        graph.labels,
        graph.class_names,
        graph.notes,
        graph.given,
    )
