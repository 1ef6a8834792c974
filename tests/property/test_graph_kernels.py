"""Edges in compact form, however they are cut into ranges, against the plainest formulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import adjacency_from_edges, symmetrise, to_scipy
from taamctl.propagation import operator
from taamctl.stream import induce

FAST = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def drawn(seed: int) -> tuple[Array, Array, int]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    e = int(rng.integers(0, 6 * n))
    return rng.integers(0, n, e), rng.integers(0, n, e), n


def dense(edges: CSR) -> Array:
    assert all(
        (np.diff(edges.indices[a:b]) > 0).all() for a, b in pairwise(edges.indptr.tolist())
    ), "sorted, each once"
    return np.asarray(to_scipy(edges).toarray())


@FAST
@given(st.integers(0, 10_000))
def test_an_edge_list_becomes_its_binary_matrix(seed: int) -> None:
    source, target, n = drawn(seed)
    made, notes = adjacency_from_edges(source, target, n, "g")
    want = np.zeros((n, n))
    want[target, source] = 1
    assert np.array_equal(dense(made), want)
    assert bool(notes) == (made.nnz < len(source))
    assert np.array_equal(dense(symmetrise(made)), np.maximum(want, want.T))


def test_an_edge_that_is_stored_very_often_counts_once() -> None:
    made, notes = adjacency_from_edges(np.ones(512, np.int64), np.zeros(512, np.int64), 2, "g")
    assert dense(made).tolist() == [[0, 1], [0, 0]]
    assert notes == ("511 duplicate edges dropped",)


@FAST
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 1 << 22]))
def test_induced_edges_are_those_inside_a_group_in_ranges_of_any_size(seed: int, size: int) -> None:
    source, target, n = drawn(seed)
    rng = np.random.default_rng(seed + 1)
    adjacency, _ = adjacency_from_edges(source, target, n, "g")
    m = int(rng.integers(0, n + 1))
    offset = np.concatenate([[0], np.sort(rng.integers(0, m + 1, 5)), [m]])
    ids = rng.permutation(n)[:m]
    ids = np.concatenate([np.sort(ids[a:b]) for a, b in pairwise(offset)]).astype(np.int64)
    group = np.repeat(np.arange(6), np.diff(offset))
    whole = dense(adjacency)[np.ix_(ids, ids)]
    inside = whole * (group[:, None] == group)
    mixed = whole * (group[:, None] % 3 == group % 3) * (group[:, None] % 3 > 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(induce, "RANGE", size)
        edges = induce.induce(adjacency, ids, offset)
        assert np.array_equal(dense(edges), inside)
        assert np.array_equal(dense(induce.induce_mixed(adjacency, ids, offset)), mixed)
        table = induce.account(edges, offset)
    loops = np.diag(inside)
    proper = inside - np.diag(loops)
    alone = (proper.sum(0) + proper.sum(1)) == 0
    for g, (a, b) in enumerate(pairwise(offset)):
        assert table[g].tolist() == [b - a, inside[a:b].sum(), loops[a:b].sum(), alone[a:b].sum()]


@FAST
@given(st.integers(0, 10_000), st.sampled_from(["add", "reset"]), st.sampled_from([1, 4, 1 << 20]))
def test_self_loops_come_where_they_belong_in_ranges_of_any_size(
    seed: int, policy: str, size: int
) -> None:
    adjacency, _ = adjacency_from_edges(*drawn(seed), "g")
    a = dense(adjacency)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator, "RANGE", size)
        made = operator.build(adjacency, policy)
    eye = np.eye(len(a))
    assert np.array_equal(dense(made.adjacency), a + eye if policy == "add" else np.maximum(a, eye))
    assert np.array_equal(made.degree, dense(made.adjacency).sum(1))
