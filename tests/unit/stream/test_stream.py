from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from taamctl.core.errors import TaamctlError
from taamctl.graph.canonical import adjacency_from_edges, symmetrise, to_scipy
from taamctl.stream.induce import account, induce
from taamctl.stream.order import build_stream
from taamctl.stream.params import SplitParams
from taamctl.stream.parts import group_nodes, split_class

PARAMS = SplitParams(node_order="file", symmetrize="as_released", unlabelled="as_released", class_order="natural", order_seed=0,
                     classes_per_task=2, odd_class="drop", min_class_size=2, small_class="drop", train=0.6, val=0.2, test=0.2, seed=42)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 99, 100, 101, 264, 1000])
@pytest.mark.parametrize("seed", [0, 42])
def test_split_equals_two_calls_of_scikit_learn(n: int, seed: int) -> None:
    ids = np.arange(n) * 3 + 1
    train, val, test = split_class(ids, dataclasses.replace(PARAMS, seed=seed))
    want_train, rest = train_test_split(ids, train_size=max(1, int(n * (1 - 0.4))), random_state=seed)
    want_val, want_test = train_test_split(rest, test_size=0.2 / 0.4, random_state=seed)
    assert [sorted(p) for p in (train, val, test)] == [sorted(p) for p in (want_train, want_val, want_test)]


@pytest.mark.parametrize(("n", "sizes"), [(1, (1, 0, 0)), (2, (1, 1, 0))])
def test_tiny_classes_fill_train_first(n: int, sizes: tuple[int, int, int]) -> None:
    parts = split_class(np.arange(n), PARAMS)
    assert tuple(map(len, parts)) == sizes


def _labels(*counts: int) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts)


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"c{i}" for i in range(n))


@pytest.mark.parametrize(("policy", "bounds"), [("drop", [(0, 2), (2, 4), (4, 6)]),
                                                ("singleton_task", [(0, 2), (2, 4), (4, 6), (6, 7)]),
                                                ("merge_into_last", [(0, 2), (2, 4), (4, 7)])])
def test_seven_classes_at_two_per_task(policy: str, bounds: list[tuple[int, int]]) -> None:
    stream, dropped = build_stream(_labels(*[5] * 7), _names(7), dataclasses.replace(PARAMS, odd_class=policy))
    assert [(t.low, t.high) for t in stream.tasks] == bounds
    assert [(d.name, d.nodes) for d in dropped] == ([("c6", 5)] if policy == "drop" else [])


def test_small_classes_leave_before_pairing_and_labels_close_up() -> None:
    stream, dropped = build_stream(_labels(5, 1, 5, 5, 5), _names(5), PARAMS)
    assert stream.labels == (0, 2, 3, 4)
    assert dropped[0].name == "c1"
    assert "fewer than 2" in dropped[0].reason


def test_small_classes_may_be_refused_by_name() -> None:
    with pytest.raises(TaamctlError, match=r"fewer than 2 nodes: c1 \(1\)"):
        build_stream(_labels(5, 1, 5), _names(3), dataclasses.replace(PARAMS, small_class="refuse"))


def test_no_task_left_is_an_error() -> None:
    with pytest.raises(TaamctlError, match="no task can be formed: 1 usable"):
        build_stream(_labels(5), _names(1), PARAMS)


def test_a_permuted_class_order_is_a_permutation_and_repeats() -> None:
    params = dataclasses.replace(PARAMS, class_order="seeded_permutation", order_seed=3)
    stream, _ = build_stream(_labels(*[4] * 10), _names(10), params)
    again, _ = build_stream(_labels(*[4] * 10), _names(10), params)
    assert sorted(stream.labels) == list(range(10))
    assert stream.labels != tuple(range(10))
    assert stream == again


def _random_split(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 120)
    labels[:3] = -1
    adjacency, _ = adjacency_from_edges(rng.integers(0, 120, 900), rng.integers(0, 120, 900), 120, "g")
    adjacency = symmetrise(adjacency)
    stream, _ = build_stream(labels, _names(5), PARAMS)
    orig, y, offset = group_nodes(labels, np.arange(120), stream, PARAMS)
    return labels, adjacency, stream, orig, y, offset


def test_induced_edges_equal_a_dense_reference() -> None:
    _, adjacency, _, orig, _, offset = _random_split(0)
    dense = to_scipy(adjacency).toarray()
    edges = induce(adjacency, orig, offset)
    want = np.zeros((len(orig), len(orig)))
    for low, high in zip(offset[:-1], offset[1:], strict=True):
        want[low:high, low:high] = dense[np.ix_(orig[low:high], orig[low:high])]
    assert np.array_equal(to_scipy(edges).toarray(), want)
    assert all((np.diff(edges.indices[a:b]) > 0).all() for a, b in zip(edges.indptr[:-1], edges.indptr[1:], strict=True))


def test_account_counts_nodes_edges_loops_and_isolated() -> None:
    adjacency, _ = adjacency_from_edges(np.array([0, 1, 2, 2]), np.array([1, 0, 2, 4]), 5, "g")
    table = account(adjacency, np.array([0, 3, 5]))
    # node 2 has a self-loop and an edge to 4, so neither 2 nor 4 is isolated; node 3 is
    assert table.tolist() == [[3, 3, 1, 0], [2, 1, 0, 1]]


def test_fractions_must_sum_to_one() -> None:
    with pytest.raises(TaamctlError, match="must be 1"):
        dataclasses.replace(PARAMS, train=0.7)
