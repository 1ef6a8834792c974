"""Keep only the edges inside one (task, part): what makes every part strictly inductive."""

from __future__ import annotations

import numpy as np

from taamctl.core.ranges import ranges
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import symmetrise, to_scipy

RANGE = 1 << 22  # entries that are looked at at once


def message_edges(adjacency: CSR, rule: str, directed: bool) -> CSR:
    """Return the edges that a split uses: as stored, or their union with their reverses.

    Args:
        rule: `always`, `never`, or `as_released`: unless the published experiments use the data set
            as `directed`.
    """
    return symmetrise(adjacency) if is_used_both_ways(rule, directed) else adjacency


def is_used_both_ways(rule: str, directed: bool) -> bool:
    """Tell whether a rule of `message_edges` joins edges with their reverses."""
    return rule == "always" or (rule == "as_released" and not directed)


def induce(adjacency: CSR, orig_id: Array, offset: Array) -> CSR:
    """Return one block-diagonal adjacency over the grouped rows: the induced subgraphs of all
    groups at once.

    Args:
        adjacency: [N, N] binary.
        orig_id: [M] node of every grouped row, in any order inside a group.
        offset: [G + 1] group boundaries.

    Returns:
        [M, M] binary; an edge survives only if both ends lie in the same group. Rows stay sorted.
    """
    group = np.repeat(np.arange(len(offset) - 1, dtype=np.int32), np.diff(offset))
    edges = _inside(adjacency, orig_id, group)
    ascending = (np.diff(orig_id) > 0) | (np.diff(group) != 0)
    return edges if ascending.all() else with_sorted_rows(edges)


def with_sorted_rows(edges: CSR) -> CSR:
    """Return the same edges, [M, M] binary, with ascending columns in every row."""
    m = to_scipy(edges, np.int8)
    m.has_sorted_indices = False  # scipy would take our word for it
    m.sort_indices()
    return CSR(edges.indptr, m.indices, None, edges.shape)


def _inside(adjacency: CSR, orig_id: Array, group: Array) -> CSR:
    """Return the edges between rows of one group; rows of a group below 0 have none."""
    total = len(orig_id)
    group_of_node = np.full(adjacency.shape[0], -1, np.int32)
    group_of_node[orig_id] = group
    position = np.zeros(adjacency.shape[0], np.int32)
    position[orig_id] = np.arange(total, dtype=np.int32)
    starts = adjacency.indptr[orig_id]
    lengths = np.where(group < 0, 0, adjacency.indptr[orig_id + 1] - starts)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    indptr = np.zeros(total + 1, np.int64)
    pieces = [np.zeros(0, np.int32)]
    for low, high in ranges(ends, RANGE):
        own = lengths[low:high]
        columns = adjacency.indices[
            np.arange(ends[low], ends[high]) + np.repeat(starts[low:high] - ends[low:high], own)
        ]
        rows = np.repeat(np.arange(high - low, dtype=np.int32), own)
        keep = group_of_node[columns] == group[low:high][rows]
        pieces.append(position[columns[keep]])
        indptr[low + 1 : high + 1] = np.bincount(rows[keep], minlength=high - low)
    np.cumsum(indptr, out=indptr)
    return CSR(indptr, np.concatenate(pieces), None, (total, total))


def induce_mixed(adjacency: CSR, orig_id: Array, offset: Array) -> CSR:
    """Return the edges inside all tasks' val nodes and inside all tasks' test nodes: what a graph
    that mixes the tasks has.

    Training rows stay empty: no task is ever trained on such a graph.

    Args:
        adjacency, orig_id, offset: as for `induce`; groups are (task, part), tasks first.

    Returns:
        [M, M] binary over the grouped rows, rows sorted.
    """
    part = np.repeat(np.arange(len(offset) - 1, dtype=np.int32) % 3, np.diff(offset))
    # a part's nodes come task by task, and not in their own order
    return with_sorted_rows(_inside(adjacency, orig_id, np.where(part == 0, np.int32(-1), part)))


def account(edges: CSR, offset: Array) -> Array:
    """Count per group: nodes, edges kept, self-loops among them, isolated nodes (no edge but a
    self-loop).

    Returns:
        [G, 4] int64.
    """
    degree = np.diff(edges.indptr)
    loops = np.zeros(edges.shape[0], np.int64)
    sends = np.zeros(edges.shape[0], bool)
    for low, high in ranges(edges.indptr, RANGE):
        columns = edges.indices[edges.indptr[low] : edges.indptr[high]]
        rows = np.repeat(np.arange(low, high, dtype=np.int32), degree[low:high])
        loops[rows[rows == columns]] += 1  # a row has one loop at most
        sends[columns[rows != columns]] = True
    isolated = (degree == loops) & ~sends
    sums = [np.diff(np.pad(np.cumsum(n), (1, 0))[offset]) for n in (degree, loops, isolated)]
    return np.stack([np.diff(offset), *sums], axis=1, dtype=np.int64)
