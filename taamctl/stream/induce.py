"""Keep only the edges inside one (task, part): what makes every part strictly inductive."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import symmetrise


def message_edges(adjacency: CSR, rule: str, directed: bool) -> CSR:
    """Return the edges that a split uses: as stored, or their union with their reverses.

    Args:
        rule: `always`, `never`, or `as_released`: unless the published experiments use the data set as `directed`.
    """
    return symmetrise(adjacency) if rule == "always" or (rule == "as_released" and not directed) else adjacency


def induce(adjacency: CSR, orig_id: Array, offset: Array) -> CSR:
    """Return one block-diagonal adjacency over the grouped rows: the induced subgraphs of all groups at once.

    Args:
        adjacency: [N, N] binary.
        orig_id: [M] node of every grouped row, ascending inside a group.
        offset: [G + 1] group boundaries.

    Returns:
        [M, M] binary; an edge survives only if both ends lie in the same group. Rows stay sorted.
    """
    total = len(orig_id)
    group_of_row = np.repeat(np.arange(len(offset) - 1, dtype=np.int32), np.diff(offset))
    group_of_node = np.full(adjacency.shape[0], -1, np.int32)
    group_of_node[orig_id] = group_of_row
    position = np.zeros(adjacency.shape[0], np.int32)
    position[orig_id] = np.arange(total, dtype=np.int32)
    indptr = np.zeros(total + 1, np.int64)
    pieces = []
    for low, high in pairwise(offset):  # group by group: the working set is one group's edges
        nodes = orig_id[low:high]
        starts, lengths = adjacency.indptr[nodes], np.diff(adjacency.indptr)[nodes]
        ends = np.cumsum(lengths)
        at = np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
        columns = adjacency.indices[at]
        rows = np.repeat(np.arange(low, high, dtype=np.int64), lengths)
        keep = group_of_node[columns] == group_of_row[low] if high > low else np.zeros(0, bool)
        pieces.append(position[columns[keep]])
        indptr[low + 1:high + 1] = np.bincount(rows[keep] - low, minlength=int(high - low))
    np.cumsum(indptr, out=indptr)
    indices = np.concatenate(pieces).astype(np.int32) if pieces else np.zeros(0, np.int32)
    return CSR(indptr, indices, None, (total, total))


def induce_mixed(adjacency: CSR, orig_id: Array, offset: Array) -> CSR:
    """Return the edges inside all tasks' val nodes and inside all tasks' test nodes: what a graph that mixes the tasks has.

    Training rows stay empty: no task is ever trained on such a graph.

    Args:
        adjacency, orig_id, offset: as for `induce`; groups are (task, part), tasks first.

    Returns:
        [M, M] binary over the grouped rows, rows sorted.
    """
    import scipy.sparse as sp

    from taamctl.graph.canonical import from_scipy, to_scipy

    total, part = len(orig_id), np.repeat(np.arange(len(offset) - 1) % 3, np.diff(offset))
    whole = to_scipy(adjacency, np.int8)
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for p in (1, 2):
        mine = np.flatnonzero(part == p)
        inside = whole[orig_id[mine]][:, orig_id[mine]].tocoo()
        rows.append(mine[inside.row])
        columns.append(mine[inside.col])
    row, column = np.concatenate(rows), np.concatenate(columns)
    return from_scipy(sp.csr_matrix((np.ones(len(row), np.int8), (row, column)), shape=(total, total)), binary=True)


def account(edges: CSR, offset: Array) -> Array:
    """Count per group: nodes, edges kept, self-loops among them, isolated nodes (no edge but a self-loop).

    Returns:
        [G, 4] int64.
    """
    degree = np.diff(edges.indptr)
    rows = np.repeat(np.arange(edges.shape[0], dtype=np.int32), degree)
    loops = np.bincount(rows[rows == edges.indices], minlength=edges.shape[0])
    touched = degree - loops > 0
    outgoing = np.bincount(edges.indices[rows != edges.indices], minlength=edges.shape[0]) > 0
    per_node = np.stack([np.ones_like(degree), degree, loops, ~(touched | outgoing)], axis=1).astype(np.int64)
    sums = np.concatenate([np.zeros((1, 4), np.int64), np.cumsum(per_node, axis=0)])
    return np.asarray(sums[offset[1:]] - sums[offset[:-1]])
