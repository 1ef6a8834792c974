"""Count what a graph is like before anything is computed on it: edges, features, labels and how
they go together. Pure functions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.graph.canonical import symmetrise


def edge_facts(graph: NodeGraph, both: CSR) -> dict[str, Any]:
    """Return counts of edges: stored ones, self-loops, those without a reverse, nodes without any.

    Args:
        both: the symmetrised adjacency.
    """
    loops = _loops(graph.adjacency)
    stored, joined = graph.adjacency.nnz - loops, both.nnz - loops
    one_way = joined - stored  # symmetrising adds one entry for every edge without its reverse
    degree = np.diff(both.indptr) - (_loop_rows(both) if loops else 0)
    return {
        "stored": graph.adjacency.nnz,
        "self_loops": loops,
        "symmetrised": both.nnz,
        "one_way_share": _share(one_way, stored),
        "isolated_nodes": int((degree == 0).sum()),
        "mean_degree": _share(joined, graph.num_nodes),
    }


def feature_facts(x: Array | CSR, codes: Array, labels: Array) -> dict[str, Any]:
    """Return what the features are like: kind, density, range, and nodes that share theirs with
    another node.

    Args:
        codes: as `row_codes` gives them.
    """
    values = x.data if isinstance(x, CSR) else x
    n, width = x.shape
    filled = (
        int(np.count_nonzero(values))
        if values is not None
        else x.indices.size
        if isinstance(x, CSR)
        else 0
    )
    low, high = (
        (0.0, 0.0)
        if values is None or not values.size
        else (float(values.min()), float(values.max()))
    )
    if isinstance(x, CSR):
        low, high = (min(low, 0.0), max(high, 0.0)) if x.data is not None else (0.0, 1.0)
        zero = np.diff(x.indptr) == 0
        used = len(np.unique(x.indices))
    else:
        zero = ~x.any(axis=1)
        used = int(x.any(axis=0).sum())
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    twin = (counts[inverse] > 1) & ~zero
    known = twin & (labels >= 0)
    least, most = np.full(len(counts), np.iinfo(np.int64).max), np.full(len(counts), -1)
    np.minimum.at(least, inverse[known], labels[known])
    np.maximum.at(most, inverse[known], labels[known])
    return {
        "count": int(width),
        "kind": "sparse" if isinstance(x, CSR) else "dense",
        "filled": filled,
        "density": _share(filled, n * width),
        "low": low,
        "high": high,
        "empty_columns": int(width) - used,
        "empty_rows": int(zero.sum()),
        "duplicate_nodes": int(twin.sum()),
        "duplicates_of_two_classes": int((known & (least < most)[inverse]).sum()),
    }


def row_codes(x: Array | CSR) -> Array:
    """Return [N] int64: equal for nodes with equal features (and, but for a collision of 64
    bits, only for those).
    """
    if not isinstance(x, CSR):
        return np.fromiter((hash(row.tobytes()) for row in x), np.int64, len(x))
    data, rows = x.data, pairwise(x.indptr.tolist())
    if data is None:
        return np.fromiter((hash(x.indices[a:b].tobytes()) for a, b in rows), np.int64, x.shape[0])
    return np.fromiter(
        (hash((x.indices[a:b].tobytes(), data[a:b].tobytes())) for a, b in rows),
        np.int64,
        x.shape[0],
    )


def homophily(both: CSR, labels: Array, classes: int) -> dict[str, Any]:
    """Return how often an edge joins two nodes of one class, as such and beyond what class sizes
    alone would give.

    h = edges inside a class / edges; adjusted = (h - sum_k p_k^2) / (1 - sum_k p_k^2), p_k the
    share of edge ends in class k. 1: always,
    0: as by chance. Self-loops and edges with an unlabelled end are left out.

    Source: Platonov, Kuznedelev, Babenko, Prokhorenkova (2023), adjusted homophily.
    """
    small = labels.astype(np.int32)
    rows = np.repeat(np.arange(both.shape[0], dtype=np.int32), np.diff(both.indptr))
    keep = (small[rows] >= 0) & (small[both.indices] >= 0) & (rows != both.indices)
    mine, other = small[rows[keep]], small[both.indices[keep]]
    if not len(mine):
        return {"edges": 0, "edge": None, "adjusted": None}
    inside = float((mine == other).mean())
    chance = float(((np.bincount(mine, minlength=classes) / len(mine)) ** 2).sum())
    return {
        "edges": len(mine),
        "edge": inside,
        "adjusted": (inside - chance) / (1 - chance) if chance < 1 else None,
    }


def graph_facts(graph: NodeGraph) -> tuple[dict[str, Any], Array]:
    """Return all facts of a graph, JSON-ready, and the codes of its features."""
    both = symmetrise(graph.adjacency)
    codes = row_codes(graph.features)
    sizes = np.bincount(graph.labels[graph.labels >= 0], minlength=len(graph.class_names))
    given = [
        name
        for name in ("arrival", "part", "time", "node_id")
        if getattr(graph.given, name) is not None
    ]
    return {
        "nodes": graph.num_nodes,
        "edges": edge_facts(graph, both),
        "features": feature_facts(graph.features, codes, graph.labels),
        "labels": {
            "classes": len(graph.class_names),
            "unlabelled": int((graph.labels < 0).sum()),
            "sizes": [[name, int(n)] for name, n in zip(graph.class_names, sizes, strict=True)],
        },
        "homophily": homophily(both, graph.labels, len(graph.class_names)),
        "states": given,
        "notes": list(graph.notes),
    }, codes


def _loop_rows(adjacency: CSR) -> Array:
    """Return [N] 1 where a node has a self-loop."""
    rows = np.repeat(np.arange(adjacency.shape[0], dtype=np.int32), np.diff(adjacency.indptr))
    return np.bincount(rows[rows == adjacency.indices], minlength=adjacency.shape[0])


def _loops(adjacency: CSR) -> int:
    return int(_loop_rows(adjacency).sum())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
