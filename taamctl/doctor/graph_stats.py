"""Count what a graph is like before anything is computed on it: edges, features, labels and how
they go together. Pure functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pandas as pd

from taamctl.core.row_codes import row_codes
from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.graph import feature_sizes
from taamctl.graph.canonical import symmetrise

STATED = ("arrival", "part", "time", "node_id")  # of what a graph may state itself


@dataclass(frozen=True)
class Alike:
    """Which nodes are alike, [N] int64 codes; -1 for a node without any feature.

    Attributes:
        features: equal for nodes with equal features.
        whole: equal for those with equal neighbours too. A node without a neighbour has none where
            features are coarse: then many nodes share them.
        distinct: how many different features there are.
    """

    features: Array
    whole: Array
    distinct: int


class FeatureFacts(TypedDict):
    """Size, range and duplicates; `empty` columns and rows are 0 throughout.

    Keys: distinct_rows (different rows that are not empty); outlying_columns (those of a size
    a hundredfold apart from the rest).
    """

    count: int
    kind: str
    filled: int
    density: float
    low: float
    high: float
    empty_columns: int
    empty_rows: int
    duplicate_nodes: int
    duplicates_of_two_classes: int
    distinct_rows: int
    outlying_columns: int


class LabelFacts(TypedDict):
    """Labels; `sizes` are [name, nodes] of every class."""

    classes: int
    unlabelled: int
    sizes: list[tuple[str, int]]


class GraphFacts(TypedDict):
    """All of it, JSON-ready."""

    nodes: int
    edges: dict[str, float]
    features: FeatureFacts
    labels: LabelFacts
    homophily: dict[str, float | None]
    states: list[str]
    notes: list[str]


def edge_facts(graph: NodeGraph, both: CSR) -> dict[str, float]:
    """Return counts of entries; `one_way_share` of the proper edges have no reverse.

    Args:
        both: the symmetrised adjacency.
    """
    loops = int(_loops(graph.adjacency).sum())
    proper, joined = graph.adjacency.nnz - loops, both.nnz - loops
    one_way = joined - proper  # symmetrising adds one entry for every edge without its reverse
    degree = np.diff(both.indptr) - _loops(both)
    return {
        "stored": graph.adjacency.nnz,
        "self_loops": loops,
        "symmetrised": both.nnz,
        "one_way_share": _share(one_way, proper),
        "isolated_nodes": int((degree == 0).sum()),
        "mean_degree": _share(joined, graph.num_nodes),
    }


def feature_facts(x: Array | CSR, codes: Array, labels: Array) -> FeatureFacts:
    """Return what the features are like.

    Args:
        codes: as `row_codes` gives them.
    """
    n, width = x.shape
    sparse = isinstance(x, CSR)
    if isinstance(x, CSR):
        values = np.broadcast_to(np.float32(1), x.indices.shape) if x.data is None else x.data
        zero = np.diff(x.indptr) == 0
        used = len(np.unique(x.indices))
    else:
        values = x
        zero = ~x.any(axis=1)
        used = int(x.any(axis=0).sum())
    filled = int(np.count_nonzero(values))
    ends = [float(values.min()), float(values.max())] if values.size else []
    if sparse or not ends:
        ends.append(0.0)  # what is not stored
    nodes = pd.DataFrame({"code": codes, "label": labels})
    apart = feature_sizes.outlying(x)
    twin = nodes["code"].duplicated(keep=False) & ~zero
    known = nodes[twin & (labels >= 0)]
    return {
        "count": int(width),
        "kind": "sparse" if sparse else "dense",
        "filled": filled,
        "density": _share(filled, n * width),
        "low": min(ends),
        "high": max(ends),
        "empty_columns": int(width) - used,
        "empty_rows": int(zero.sum()),
        "duplicate_nodes": int(twin.sum()),
        "duplicates_of_two_classes": int(
            (known.groupby("code")["label"].transform("nunique") > 1).sum()
        ),
        "distinct_rows": int(nodes["code"][~zero].nunique()),
        "outlying_columns": len(apart.columns) if apart is not None else 0,
    }


def homophily(both: CSR, labels: Array, classes: int) -> dict[str, float | None]:
    """Return how often an edge joins two nodes of one class, as such and beyond what class sizes
    alone would give.

    h = edges inside a class / edges; adjusted = (h - sum_k p_k^2) / (1 - sum_k p_k^2), p_k the
    share of edge ends in class k. 1: always, 0: as by chance. Self-loops and edges with an
    unlabelled end are left out.

    Source: Platonov, Kuznedelev, Babenko, Prokhorenkova (2023), adjusted homophily.
    """
    small = labels.astype(np.int32)
    rows = _rows(both)
    keep = (small[rows] >= 0) & (small[both.indices] >= 0) & (rows != both.indices)
    mine, other = small[rows[keep]], small[both.indices[keep]]
    if not len(mine):
        return {"edges": 0, "edge": None, "adjusted": None}
    inside = float((mine == other).mean())
    chance = float(((np.bincount(mine, minlength=classes) / len(mine)) ** 2).sum())
    adjusted = (inside - chance) / (1 - chance) if chance < 1 else None
    return {"edges": len(mine), "edge": inside, "adjusted": adjusted}


def alike(codes: Array, both: CSR, x: Array | CSR) -> Alike:
    """Return which nodes are alike.

    Args:
        codes: as `row_codes` gives them of the features `x`. both: the symmetrised adjacency.
    """
    empty = np.diff(x.indptr) == 0 if isinstance(x, CSR) else ~x.any(axis=1)
    features = pd.factorize(codes)[0]
    features[empty] = -1
    distinct = len(np.unique(features[~empty]))
    near = pd.factorize(row_codes(both))[0]
    pairs = np.stack([features, near], axis=1)
    whole = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    alone = np.diff(both.indptr) == 0
    coarse = 2 * distinct < np.count_nonzero(~empty)
    whole[empty | (alone & coarse)] = -1
    return Alike(features, whole, distinct)


def graph_facts(graph: NodeGraph) -> tuple[GraphFacts, Alike]:
    """Return all facts of a graph, and which of its nodes are alike."""
    both = symmetrise(graph.adjacency)
    codes = row_codes(graph.features)
    classes = len(graph.class_names)
    sizes = np.bincount(graph.labels[graph.labels >= 0], minlength=classes).tolist()
    return {
        "nodes": graph.num_nodes,
        "edges": edge_facts(graph, both),
        "features": feature_facts(graph.features, codes, graph.labels),
        "labels": {
            "classes": classes,
            "unlabelled": int((graph.labels < 0).sum()),
            "sizes": list(zip(graph.class_names, sizes, strict=True)),
        },
        "homophily": homophily(both, graph.labels, classes),
        "states": [name for name in STATED if getattr(graph.given, name) is not None],
        "notes": list(graph.notes),
    }, alike(codes, both, graph.features)


def _rows(adjacency: CSR) -> Array:
    """Return [nnz] the row of every entry."""
    return np.repeat(np.arange(adjacency.shape[0], dtype=np.int32), np.diff(adjacency.indptr))


def _loops(adjacency: CSR) -> Array:
    """Return [N] 1 where a node has a self-loop."""
    rows = _rows(adjacency)
    return np.bincount(rows[rows == adjacency.indices], minlength=adjacency.shape[0])


def _share(part: int, whole: int) -> float:
    return part / max(1, whole)
