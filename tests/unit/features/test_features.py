from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from taamctl.core.ranges import ranges
from taamctl.core.types import CSR
from taamctl.features import group_features, profiles, raw_features
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, symmetrise, to_scipy
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import Operator, build, with_self_loops
from taamctl.propagation.powers import hop_matrices
from taamctl.propagation.reconnection import reconnected

PARAMS = PrecomputeParams(
    hops=2,
    max_hop=4,
    self_loops="add",
    feature_norm="none",
    backend="torch",
    ls_hops=3,
    ls_reconnect=True,
    ls_seed=0,
    store_x=True,
    store_edges=True,
)
OFFSET = np.array([0, 30, 50, 50, 80])


def _edges(seed: int = 0, directed: bool = False) -> CSR:
    """Random block-diagonal edges over 80 rows in four groups (one empty), with loops and
    isolated nodes.
    """
    rng = np.random.default_rng(seed)
    source, target = [], []
    for low, high in zip(OFFSET[:-1], OFFSET[1:], strict=True):
        if high > low:
            source.append(rng.integers(low, high - 4, 60))
            target.append(rng.integers(low, high - 4, 60))
    adjacency, _ = adjacency_from_edges(np.concatenate(source), np.concatenate(target), 80, "g")
    return adjacency if directed else symmetrise(adjacency)


def _dense(edges: CSR, policy: str = "add") -> np.ndarray:
    a = to_scipy(edges, np.float64).toarray()
    a = a + np.eye(80) if policy == "add" else np.maximum(a, np.eye(80))
    d = 1 / np.sqrt(np.maximum(a.sum(1), 1))
    return d[:, None] * a * d[None, :]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("policy", ["add", "reset"])
def test_operator_equals_the_dense_formula(policy: str, directed: bool) -> None:
    edges = _edges(directed=directed)
    assert (np.diag(to_scipy(edges).toarray()) > 0).any(), "the case needs a stored self-loop"
    assert np.allclose(build(edges, policy).scipy().toarray(), _dense(edges, policy), atol=1e-14)


def test_an_added_loop_doubles_a_stored_one_and_reset_does_not() -> None:
    edges, _ = adjacency_from_edges(np.array([0, 1]), np.array([0, 0]), 2, "g")
    assert to_scipy(with_self_loops(edges, "add")).toarray().tolist() == [[2, 1], [0, 1]]
    assert to_scipy(with_self_loops(edges, "reset")).toarray().tolist() == [[1, 1], [0, 1]]


@pytest.mark.parametrize("backend", sorted(BACKENDS))
@pytest.mark.parametrize("sparse", [False, True])
def test_backends_agree_with_a_dense_reference(backend: str, sparse: bool) -> None:
    if backend == "dgl":
        pytest.importorskip("dgl", reason="the dgl backend needs dgl")
    rng = np.random.default_rng(1)
    x = rng.random((80, 300), dtype=np.float32) * (rng.random((80, 300)) < 0.2)
    features = from_scipy(x) if sparse else x.astype(np.float32)
    edges = _edges()
    s = _dense(edges)
    got = hop_matrices(build(edges, "add"), features, [2], backend)[2]
    assert got.dtype == np.float32
    assert np.abs(got - s @ s @ x).max() < 2e-6


def _made(edges: CSR, x: Any, **changes: Any) -> list[dict[str, np.ndarray]]:
    """Return what is stored of every group."""
    params = dataclasses.replace(PARAMS, **changes)
    made = group_features.compute_all(x, np.arange(80), OFFSET, edges, params, "none")
    return [group.stored(params) for group in made]


def _operator(nodes: int, entries: int, seed: int = 0) -> Operator:
    """A directed operator with loops of weight 2, hubs and empty rows."""
    rng = np.random.default_rng(seed)
    source, target = (
        (rng.integers(0, nodes, entries) ** 2 // max(nodes, 1) for _ in range(2))
        if nodes
        else (np.zeros(0, int),) * 2
    )
    return build(adjacency_from_edges(source, target, nodes, "g")[0], "add")


@pytest.mark.parametrize("width", [1, 7, 16, 100, 128, 300])
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_a_column_has_the_same_bits_alone_and_among_any_others(backend: str, width: int) -> None:
    if backend == "dgl":
        pytest.importorskip("dgl", reason="the dgl backend needs dgl")
    operator = _operator(700, 9_000)
    assert operator.adjacency.data is not None
    z, step = (
        np.random.default_rng(7).standard_normal((700, 300)).astype(np.float32),
        BACKENDS[backend](operator),
    )
    whole = step(z)
    assert all(
        np.array_equal(step(np.ascontiguousarray(z[:, at : at + width])), whole[:, at : at + width])
        for at in range(0, 300, width)
    )
    exact = operator.scipy(np.float64) @ z.astype(np.float64)
    allowed = 4e-7 * (abs(operator.scipy(np.float64)) @ abs(z).astype(np.float64)) * 8
    assert (np.abs(whole - exact) <= allowed + 1e-12).all()


@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_threads_change_no_bit_of_a_step(backend: str) -> None:
    if backend == "dgl":
        pytest.importorskip("dgl", reason="the dgl backend needs dgl")
    operator, before = _operator(3_000, 40_000), torch.get_num_threads()
    z = np.random.default_rng(8).standard_normal((3_000, 33)).astype(np.float32)
    made = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            made.append(BACKENDS[backend](operator)(z))
    finally:
        torch.set_num_threads(before)
    assert all(np.array_equal(made[0], other) for other in made[1:])


@pytest.mark.parametrize("nodes", [0, 1, 5])
@pytest.mark.parametrize("loops", [True, False])
def test_a_step_without_edges_and_without_nodes(nodes: int, loops: bool) -> None:
    operator = _operator(nodes, 0)
    if not loops:
        none = CSR(
            np.zeros(nodes + 1, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, np.float32),
            (nodes, nodes),
        )
        operator = Operator(none, np.ones(nodes))
    z = np.random.default_rng(9).standard_normal((nodes, 3)).astype(np.float32)
    assert np.array_equal(BACKENDS["torch"](operator)(z), z if loops else np.zeros_like(z))


def test_isolated_nodes_keep_their_own_features() -> None:
    x = np.random.default_rng(0).random((80, 4), dtype=np.float32)
    got = hop_matrices(build(_edges(), "add"), x, [2], "torch")[2]
    alone = np.diff(_edges().indptr) == 0
    assert alone.any()
    assert np.allclose(got[alone], x[alone], rtol=1e-6)


def test_row_norm_leaves_zero_rows() -> None:
    x = np.array([[1, 3], [0, 0]], np.float32)
    want = [[0.25, 0.75], [0, 0]]
    assert raw_features.normalise(x, "row").tolist() == want
    assert to_scipy(raw_features.normalise(from_scipy(x), "row")).toarray().tolist() == want


def test_vector_propagation_gives_the_means_of_propagated_features() -> None:
    x = np.random.default_rng(2).standard_normal((80, 7)).astype(np.float32)
    edges = _edges(directed=True)  # S is not symmetric: the transpose matters
    operator, s, made = build(edges, "add"), _dense(edges), _made(edges, x)
    means = profiles.hop_means(operator, x, OFFSET, 4)
    z = x.astype(np.float64)
    for j in range(5):
        for g in (0, 1, 3):
            assert np.allclose(means[g, j], z[OFFSET[g] : OFFSET[g + 1]].mean(0), atol=1e-12)
            assert np.allclose(means[g, j], made[g]["hop_mean"][j], atol=1e-12)
        z = s @ z
    assert (means[2] == 0).all() and (made[2]["hop_mean"] == 0).all()
    assert np.allclose(np.concatenate([m["spread"] for m in made]), s @ s @ np.ones(80))
    assert np.allclose(profiles.spread(operator, 2), s @ s @ np.ones(80))


def test_ls_profile_equals_its_definition() -> None:
    x = np.random.default_rng(3).standard_normal((80, 5)).astype(np.float32)
    edges = _edges()
    got = [made["ls_mean"] for made in _made(edges, x, ls_reconnect=False)]
    s, d = _dense(edges), build(edges, "add").inverse_root
    z = s @ s @ s @ x
    for g in (0, 1, 3):
        rows = slice(OFFSET[g], OFFSET[g + 1])
        assert np.allclose(got[g][0], (d[:, None] * z)[rows].mean(0), atol=1e-12)
        assert np.allclose(got[g][1], z[rows].mean(0), atol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_reconnecting_ties_isolated_nodes_inside_their_group(directed: bool) -> None:
    operator = build(_edges(directed=directed), "add")
    before = to_scipy(operator.adjacency).toarray()
    owner = np.repeat(np.arange(4), np.diff(OFFSET))
    alone = np.flatnonzero((before > 0).sum(1) == 1)
    assert len(alone)
    for g, (low, high) in enumerate(pairwise(OFFSET.tolist())):
        rows, columns = reconnected(operator, low, high, g, 0)
        assert (owner[rows] == g).all()
        assert (owner[columns] == g).all()
        assert (before[rows, columns] == 0).all(), "an entry that is there already"
        assert len({*zip(rows.tolist(), columns.tolist(), strict=True)}) == len(rows)
        mine = alone[owner[alone] == g]
        assert np.isin(mine, rows).all(), "every node without an in-edge has one now"
        assert all(
            before[c, r] > 0 or (c, r) in {*zip(rows.tolist(), columns.tolist(), strict=True)}
            for r, c in zip(rows.tolist(), columns.tolist(), strict=True)
        ), "a tie goes both ways"
        again = reconnected(operator, low, high, g, 0)
        assert np.array_equal(rows, again[0])
        assert np.array_equal(columns, again[1])


@pytest.mark.parametrize("policy", ["add", "reset"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("entries", [1, 3, 50])
def test_products_with_vectors_equal_the_dense_ones_however_rows_are_cut(
    monkeypatch: pytest.MonkeyPatch, entries: int, directed: bool, policy: str
) -> None:
    monkeypatch.setattr("taamctl.propagation.operator.RANGE", entries)
    operator, v = (
        build(_edges(directed=directed), policy),
        np.random.default_rng(3).standard_normal((80, 2)),
    )
    s = _dense(_edges(directed=directed), policy)
    assert np.allclose(operator.scipy().toarray(), s, atol=1e-14)
    assert np.allclose(operator.times(v), s @ v, atol=1e-13)
    assert np.allclose(operator.times(v[:, 0], transposed=True), s.T @ v[:, 0], atol=1e-13)
    d, extra = operator.inverse_root, np.zeros((80, 80))
    extra[3, 7] = 1
    pairs = (np.array([3]), np.array([7]))
    assert np.allclose(operator.times(v, pairs=pairs), (s + d[:, None] * extra * d) @ v, atol=1e-13)
    assert np.allclose(
        operator.times(v, transposed=True, pairs=pairs),
        (s + d[:, None] * extra * d).T @ v,
        atol=1e-13,
    )


def test_ranges_cover_all_rows_with_few_entries_each() -> None:
    indptr = np.array([0, 5, 5, 5, 30, 31, 31, 33, 33])
    found = list(ranges(indptr, 6))
    assert [low for low, _ in found] == [0, *(high for _, high in found[:-1])]
    assert found[-1][1] == 8
    assert all(indptr[high] - indptr[low] <= 6 or high == low + 1 for low, high in found)
    assert list(ranges(np.array([0]), 6)) == []


def test_ls_is_scale_sensitive_under_euclid_only() -> None:
    """Doubling every degree rescales the trailing D^-1/2, which moves a Euclidean distance and
    no cosine.
    """
    x = np.abs(np.random.default_rng(4).standard_normal((80, 5))).astype(np.float32)
    profile = _made(_edges(), x)[0]["ls_mean"][0]
    from taamctl.learning.routing.task_id import similarity

    prototypes = np.stack([profile, profile / 3])
    assert similarity(profile / 2.5, prototypes, "cosine")[0] == pytest.approx(1)
    assert similarity(profile, prototypes, "euclid").argmax() == 0
    assert similarity(profile / 2.5, prototypes, "euclid").argmax() == 1


def test_compute_keeps_groups_apart() -> None:
    """A huge feature planted in one group changes no other group's rows."""
    x = np.random.default_rng(5).random((80, 6), dtype=np.float32)
    loud = x.copy()
    loud[35] = 1e30
    made = [_made(_edges(), f) for f in (x, loud)]
    for name in ("H", "hop_mean", "ls_mean"):
        a, b = ([group[name] for group in m] for m in made)
        assert [np.array_equal(*pair) for pair in zip(a, b, strict=True)] == [
            True,
            False,
            True,
            True,
        ]


def test_stored_edges_repeat_double_loops() -> None:
    for policy in ("add", "reset"):
        operator = build(_edges(), policy)
        indptr, indices = group_features.edge_entries(operator)
        dense = np.zeros((80, 80))
        np.add.at(dense, (np.repeat(np.arange(80), np.diff(indptr)), indices), 1)
        assert np.array_equal(dense, to_scipy(operator.adjacency).toarray())
        assert (operator.adjacency.data is not None) == (policy == "add")


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_raw_features_are_stored_dense_where_most_are_not_zero_and_as_csr_elsewhere(
    share: float,
) -> None:
    rng = np.random.default_rng(6)
    x = np.where(rng.random((80, 6)) < share, rng.random((80, 6)), 0.0).astype(np.float32)
    loose = from_scipy(x)
    zeros = CSR(
        np.arange(0, 481, 6), np.tile(np.arange(6, dtype=np.int32), 80), x.ravel(), (80, 6)
    )  # every zero is stored
    made = [_made(_edges(), f) for f in (x, loose, zeros)]
    for g, (low, high) in enumerate(pairwise(OFFSET.tolist())):
        got = [m[g] for m in made]
        for other in got[1:]:
            assert {n: (a.dtype, a.tobytes()) for n, a in other.items()} == {
                n: (a.dtype, a.tobytes()) for n, a in got[0].items()
            }
        if share > 0.5 or low == high:
            assert np.array_equal(got[0]["x"], x[low:high])
        else:
            back = CSR(got[0]["x_indptr"], got[0]["x_indices"], got[0]["x_data"], (high - low, 6))
            assert np.array_equal(to_scipy(back).toarray(), x[low:high])


@pytest.mark.parametrize("width", [1, 2, 3, 7, 16])
def test_means_of_a_column_have_the_same_bits_alone_and_among_any_others(width: int) -> None:
    rng = np.random.default_rng(10)
    weights, x = rng.random((9_001, 5)), rng.standard_normal((9_001, 33)).astype(np.float32)
    whole = profiles.weighted_sums(weights, x)
    assert np.allclose(whole, weights.T @ x.astype(np.float64))
    for at in range(0, 33, width):
        assert np.array_equal(
            profiles.weighted_sums(weights, np.ascontiguousarray(x[:, at : at + width])),
            whole[:, at : at + width],
        )
