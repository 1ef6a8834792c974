"""A graph that is read a range of rows at a time, against the same one in memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taamctl.core import edge_rows, rows
from taamctl.core.edge_rows import EdgeRows, GraphRows, in_rows, of_csr
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, Given, NodeGraph
from taamctl.datasets import _graph_rows, _imported
from taamctl.graph import canonical, rows_hash
from taamctl.stream import kept_edges
from taamctl.stream.induce import induce, induce_mixed

FAST = settings(max_examples=60, deadline=None)


def drawn(rng: np.random.Generator, values: str = "dense") -> NodeGraph:
    """Draw a graph with loops, some pairs in both directions; features of a kind."""
    n, e = int(rng.integers(1, 60)), int(rng.integers(0, 300))
    source, target = rng.integers(0, n, e), rng.integers(0, n, e)
    back = rng.random(e) < rng.random()
    ends = np.concatenate([source, target[back]]), np.concatenate([target, source[back]])
    adjacency, _ = canonical.adjacency_from_edges(*ends, n, "g")
    x = rng.standard_normal((n, 4)).astype(np.float32) * (rng.random((n, 4)) < 0.5)
    sparse = CSR.of_dense(x)
    kinds = {"dense": x, "csr": sparse, "no values": replace(sparse, data=None)}
    labels = rng.integers(-1, 3, n)
    part = rng.integers(-1, 3, n).astype(np.int8)
    return NodeGraph("g", adjacency, kinds[values], labels, ("a", "b", "c"), given=Given(part=part))


def groups(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Draw some of n nodes into six groups, some of them empty."""
    m = int(rng.integers(0, n + 1))
    offset = np.concatenate([[0], np.sort(rng.integers(0, m + 1, 5)), [m]])
    ids = rng.permutation(n)[:m]
    if rng.random() < 0.7:
        ids = np.concatenate([np.sort(ids[a:b]) for a, b in pairwise(offset)])
    return ids.astype(np.int64), offset


def same(one: CSR, other: CSR) -> bool:
    return np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)


@FAST
@given(st.integers(0, 10_000), st.sampled_from([1, 7, 1 << 22]), st.booleans())
def test_kept_edges_are_those_of_the_whole_graph_in_memory(
    seed: int, size: int, both_ways: bool
) -> None:
    rng = np.random.default_rng(seed)
    adjacency = drawn(rng).adjacency
    ids, offset = groups(rng, adjacency.shape[0])
    used = canonical.symmetrise(adjacency) if both_ways else adjacency
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_rows, "RANGE", size)
        patch.setattr(kept_edges, "PAIRS", size)
        made = kept_edges.kept_edges(of_csr(adjacency), ids, offset, both_ways=both_ways)
    assert made.used == used.nnz
    assert same(made.edges, induce(used, ids, offset))
    assert same(made.mixed, induce_mixed(used, ids, offset))


@pytest.mark.parametrize("values", ["dense", "csr", "no values"])
@pytest.mark.parametrize("size", [1, 99])
def test_a_graph_in_its_file_is_the_one_that_was_written(
    tmp_path: Path, values: str, size: int
) -> None:
    graph = drawn(np.random.default_rng(size), values)
    path = tmp_path / "g.h5"
    _imported.write(path, graph, {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_rows, "RANGE", size)
        for rows in (_graph_rows.graph(path), in_rows(graph)):
            assert rows_hash.content_hash(rows) == canonical.content_hash(graph)
            assert rows_hash.feature_hash(rows.features) == canonical.feature_hash(graph.features)
            assert same(rows.edges.whole(), graph.adjacency)
            assert np.array_equal(rows.given.part, graph.given.part)


def test_a_column_that_is_no_node_is_refused() -> None:
    two = EdgeRows(np.array([0, 1, 2]), lambda: nullcontext(lambda low, high: np.array([7, 0])))
    with pytest.raises(TaamctlError, match=r"column ids lie outside 0\.\.1"):
        two.whole()


def test_rows_with_arrays_that_do_not_fit_are_refused() -> None:
    edges = of_csr(CSR(np.zeros(4, np.int64), np.zeros(0, np.int32), None, (3, 3)))
    x = np.ones((3, 2), np.float32)
    good = np.array([0, -1, 1])

    def made(labels: Array, features: Array = x, part: Array | None = None) -> GraphRows:
        stated = Given(part=part)
        return GraphRows(edges, rows.of_whole(features), labels, ("a", "b"), given=stated)

    rows_hash.feature_hash(made(good).features)
    wrong = (
        lambda: made(np.array([0, 1, 2])),
        lambda: made(good.astype(np.int32)),
        lambda: made(good[:2]),
        lambda: made(good, x[:2]),
        lambda: made(good, part=np.zeros(2, np.int8)),
    )
    for make in wrong:
        with pytest.raises(TaamctlError):
            make()
    x[2, 1] = np.nan
    with pytest.raises(TaamctlError, match="nan at row 2, column 1"):
        rows_hash.feature_hash(made(good).features)
