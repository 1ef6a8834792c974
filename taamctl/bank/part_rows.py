"""Rows S^j X of one part of one task in float64: of some nodes, from as much of the graph as they
depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np

from taamctl.bank.graph_source import Source
from taamctl.core.types import CSR, Array
from taamctl.features import profiles
from taamctl.features.raw_features import Norm, in_room, raw_rows
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.propagation.column_blocks import Blocks
from taamctl.propagation.operator import RANGE, Operator, build
from taamctl.propagation.powers import BLOCK, powers
from taamctl.propagation.room import Room, SomeRows, StoredRows
from taamctl.stream.induce import induce

COPIES = 4  # float64 columns of all nodes that exist while one is propagated
ENTRIES = 40  # bytes per entry of a range of rows that is multiplied

Hops = Mapping[int, StoredRows] | Mapping[int, SomeRows]  # j -> S^j X of some nodes, in float64


class PartRows:
    """The subgraph that some nodes induce.

    Args:
        adjacency: [N, N] the edges as the bank uses them. ids: [n] nodes, ascending.

    Attributes:
        ids: as given. links: [n] int64, edges at every node among these, in and out.
    """

    def __init__(
        self,
        source: Source,
        adjacency: CSR,
        ids: Array,
        self_loops: str,
        norm: Norm,
        room: Room,
    ) -> None:
        edges = induce(adjacency, ids, np.array([0, len(ids)]))
        self.ids = ids
        self.links = np.diff(edges.indptr) + np.bincount(edges.indices, minlength=len(ids))
        self._operator = build(edges, self_loops)
        self._features = source.graph.features
        self._norm = norm
        self._room = room
        self._stack: ExitStack | None = None
        self._kept: dict[int, StoredRows] = {}

    def keep(self, stack: ExitStack) -> None:
        """Compute the rows of all nodes when the first are asked for, and keep them for all later
        calls of `rows`, which ask for the same hops, until the stack closes.
        """
        self._stack = stack

    def near(self, start: Array, steps: int) -> Array:
        """Return which nodes are at most so many edges from some, in either direction, [n] bool.

        Args:
            start: [n] bool.
        """
        found = start.copy()
        edges = to_scipy(self._operator.adjacency, bool)
        for _ in range(steps):
            found |= (edges @ found) | (edges.T @ found)
        return found

    def hop_sum(self, last: int) -> Array:
        """Return the sum over all nodes of S^j X, j = 0..last, [last + 1, F] float64."""
        weights = profiles.hop_weights(self._operator, last)
        out = np.zeros((last + 1, self._features.shape[1]))
        for low, block in raw_rows(self._features, self.ids, self._norm):
            out += profiles.weighted_sums(weights[low : low + len(block)], block)
        return out

    @contextmanager
    def rows(self, at: Array, hops: Iterable[int]) -> Iterator[Hops]:
        """Yield j -> S^j X of some nodes, [K, F] float64 each.

        Args:
            at: [K] int64, the nodes by their places in `ids`, in any order.
        """
        if self._stack is None:
            with self._computed(at, hops) as found:
                yield found
            return
        if not self._kept:
            every = np.arange(len(self.ids))
            self._kept = self._stack.enter_context(self._computed(every, hops))
        yield {j: SomeRows(self._kept[j], at) for j in hops}

    @contextmanager
    def _computed(self, at: Array, hops: Iterable[int]) -> Iterator[dict[int, StoredRows]]:
        needed = sorted(set(hops))
        operator, ball = self._around(at, needed[-1])
        places = np.searchsorted(ball, at)
        n, f = len(ball), self._features.shape[1]
        step = 8 * COPIES * n
        whole = 4 * n * f + 8 * len(at) * f * len(needed) + step * min(f, BLOCK)
        columns = self._room.columns(whole + ENTRIES * RANGE, step)
        with ExitStack() as stack:
            out = {
                j: stack.enter_context(self._room.matrix((len(at), f), np.float64, columns))
                for j in needed
            }
            with in_room(self._room, self._features, self.ids[ball], self._norm, columns) as x:
                _propagate(operator, x, places, out)
            yield {j: StoredRows(blocks) for j, blocks in out.items()}

    def _around(self, at: Array, steps: int) -> tuple[Operator, Array]:
        """Return S between the nodes that some rows depend on, and the places of these,
        ascending.
        """
        wanted = np.zeros(len(self.ids), bool)
        wanted[at] = True
        ball = np.flatnonzero(self.near(wanted, steps))
        if len(ball) == len(self.ids):
            return self._operator, ball
        a = self._operator.adjacency
        inside = from_scipy(to_scipy(a, np.int8)[ball][:, ball], binary=a.data is None)
        return Operator(inside, self._operator.degree[ball]), ball


def _propagate(operator: Operator, x: Blocks, places: Array, out: dict[int, Blocks]) -> None:
    """Write S^j X of the nodes in some places into `out[j]`, a block of columns at a time."""
    for low in range(0, x.shape[1], x.width):
        z = x.columns(low).astype(np.float64)
        for j, product in enumerate(powers(operator.exact_step, z, max(out))):
            if j in out:
                out[j].write_columns(low, product[places])
