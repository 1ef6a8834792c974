"""The edges that a split keeps, from passes over a graph's edges a range of rows at a time.

An edge is kept or not whichever way it points, so edges are sorted out first and joined with their
reverses later: nothing is made of the edges that are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from taamctl.core.edge_rows import EdgeRows
from taamctl.core.ranges import ranges
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import symmetrise
from taamctl.stream.induce import with_sorted_rows

PAIRS = 1 << 23  # pairs of nodes that are counted at once, at least
PASSES = 8  # ranges of pairs that they are counted in, at most about


@dataclass(frozen=True)
class KeptEdges:
    """What a split has of a graph's edges; M grouped rows.

    Attributes:
        edges: [M, M] binary, block-diagonal: inside one (task, part). mixed: [M, M] binary: inside
            all val or inside all test nodes.
        used: directed entries of the whole graph that are looked at, reverses included.
    """

    edges: CSR
    mixed: CSR
    used: int


def kept_edges(edges: EdgeRows, orig_id: Array, offset: Array, *, both_ways: bool) -> KeptEdges:
    """Return the edges that a split keeps: what `induce` and `induce_mixed` give of the same edges
    in memory, or of their union with their reverses where they count `both_ways`.

    Args:
        edges: of N nodes.
        orig_id: [M] int64, node of every grouped row.
        offset: [G + 1] int64, boundaries of the groups (task, part), tasks first.
    """
    used = entries_both_ways(edges) if both_ways else edges.nnz  # first: it takes room of its own
    group = np.repeat(np.arange(len(offset) - 1, dtype=np.int32), np.diff(offset))
    part = group % np.int32(3)
    position = np.zeros(edges.num_nodes, np.int32)
    position[orig_id] = np.arange(len(orig_id), dtype=np.int32)
    own = _Kept(_by_node(group, edges, orig_id), position, len(orig_id))
    mixed = _Kept(_by_node(np.where(part > 0, part, -1), edges, orig_id), position, len(orig_id))
    for low, high, columns in edges.blocks():
        rows = edges.rows(low, high)
        own.add(low, high, rows, columns)
        mixed.add(low, high, rows, columns)
    ascending = bool(((np.diff(orig_id) > 0) | (np.diff(group) != 0)).all())
    if not both_ways:
        return KeptEdges(own.joined(ascending), mixed.joined(ascending=False), used)
    across = symmetrise(mixed.joined(ascending=False))
    return KeptEdges(_both_ways(own.joined(ascending), offset), across, used)


def _by_node(of_row: Array, edges: EdgeRows, orig_id: Array) -> Array:
    """Return for every node what is given for its row, [N] int32; -1 where it has none."""
    found = np.full(edges.num_nodes, -1, np.int32)
    found[orig_id] = of_row
    return found


@dataclass
class _Kept:
    """Edges whose ends have the same mark.

    Attributes:
        mark: [N] of every node; below 0: it has no edges. position: [N] its row. rows: M.
        lengths: [M] edges of every row so far. pieces: ranges of nodes, and the rows that their
            edges come from.
    """

    mark: Array
    position: Array
    rows: int
    lengths: Array = field(init=False)
    pieces: list[tuple[int, int, Array]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lengths = np.zeros(self.rows, np.int64)

    def add(self, low: int, high: int, rows: Array, columns: Array) -> None:
        """Sort out the edges of nodes [low, high)."""
        mark = self.mark[rows]
        keep = (mark == self.mark[columns]) & (mark >= 0)
        counts = np.bincount(rows[keep] - low, minlength=high - low)
        marked = self.mark[low:high] >= 0
        self.lengths[self.position[low:high][marked]] = counts[marked]
        self.pieces.append((low, high, self.position[columns[keep]]))

    def joined(self, ascending: bool) -> CSR:
        """Return all of them, and hold them no longer; `ascending`: nodes in order are rows in
        order.
        """
        indptr = np.concatenate([[0], np.cumsum(self.lengths)])
        indices = np.empty(int(indptr[-1]), np.int32)
        self.pieces.reverse()
        while self.pieces:
            low, high, piece = self.pieces.pop()
            at = self.position[low:high][self.mark[low:high] >= 0]
            own = self.lengths[at]
            before = np.cumsum(own) - own
            indices[np.arange(len(piece)) + np.repeat(indptr[at] - before, own)] = piece
        made = CSR(indptr, indices, None, (self.rows, self.rows))
        return made if ascending else with_sorted_rows(made)


def _both_ways(edges: CSR, offset: Array) -> CSR:
    """Return block-diagonal edges with their reverses, a group after the other."""
    lengths = []
    pieces = [np.zeros(0, np.int32)]
    for low, high in pairwise(offset.tolist()):
        a, b = int(edges.indptr[low]), int(edges.indptr[high])
        inside = edges.indices[a:b] - np.int32(low)
        size = high - low
        group = symmetrise(CSR(edges.indptr[low : high + 1] - a, inside, None, (size, size)))
        lengths.append(np.diff(group.indptr))
        pieces.append(group.indices + np.int32(low))
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return CSR(indptr, np.concatenate(pieces), None, edges.shape)


def entries_both_ways(edges: EdgeRows) -> int:
    """Count the directed entries of edges together with their reverses: twice the pairs of two
    nodes, and the loops.

    Pairs are counted by their smaller node, a range of such nodes at a time, so that the graph is
    gone over again for every range, from its first node on.
    """
    n = edges.num_nodes
    pairs = np.zeros(n, np.int64)
    loops = 0
    for low, high, columns in edges.blocks():
        rows = edges.rows(low, high)
        np.add.at(pairs, np.minimum(rows, columns), 1)
        loops += int((rows == columns).sum())
    ends = np.concatenate([[0], np.cumsum(pairs)])
    del pairs
    most = max(PAIRS, edges.nnz // PASSES)
    distinct = sum(_distinct(edges, a, b, ends) for a, b in ranges(ends, most) if ends[b] > ends[a])
    return 2 * distinct - loops


def _distinct(edges: EdgeRows, first: int, last: int, ends: Array) -> int:
    """Count the different pairs whose smaller node is in [first, last)."""
    keys = np.empty(int(ends[last] - ends[first]), np.int64)
    at = 0
    for low, high, columns in edges.blocks(first):
        rows = edges.rows(low, high)
        smaller = np.minimum(rows, columns)
        here = (smaller >= first) & (smaller < last)
        found = smaller[here].astype(np.int64) * edges.num_nodes
        found += np.maximum(rows, columns)[here]
        keys[at : at + len(found)] = found
        at += len(found)
        if at == len(keys):
            break
    keys.sort()
    return 1 + int(np.count_nonzero(keys[1:] != keys[:-1]))
