from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given, NodeGraph
from taamctl.graph import canonical
from taamctl.graph.canonical import adjacency_from_edges, symmetrise, to_scipy
from taamctl.params.split_params import SplitParams
from taamctl.stream.induce import account, induce, induce_mixed
from taamctl.stream.node_parts import group_nodes, split_class
from taamctl.stream.order import build_stream
from taamctl.stream.task_split import Facts, Split, make_split

PARAMS = SplitParams(
    node_order="file",
    symmetrize="as_released",
    unlabelled="as_released",
    tasks="as_given",
    class_order="natural",
    order_seed=0,
    classes_per_task=2,
    odd_class="drop",
    min_class_size=2,
    small_class="drop",
    parts="as_given",
    train=0.6,
    val=0.2,
    test=0.2,
    seed=42,
)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 99, 100, 101, 264, 1000])
@pytest.mark.parametrize("seed", [0, 42])
def test_split_equals_two_calls_of_scikit_learn(n: int, seed: int) -> None:
    ids = np.arange(n) * 3 + 1
    train, val, test = split_class(ids, dataclasses.replace(PARAMS, seed=seed))
    want_train, rest = train_test_split(
        ids, train_size=max(1, int(n * (1 - 0.4))), random_state=seed
    )
    want_val, want_test = train_test_split(rest, test_size=0.2 / 0.4, random_state=seed)
    assert [sorted(p) for p in (train, val, test)] == [
        sorted(p) for p in (want_train, want_val, want_test)
    ]


@pytest.mark.parametrize(("n", "sizes"), [(1, (1, 0, 0)), (2, (1, 1, 0))])
def test_tiny_classes_fill_train_first(n: int, sizes: tuple[int, int, int]) -> None:
    parts = split_class(np.arange(n), PARAMS)
    assert tuple(map(len, parts)) == sizes


def _labels(*counts: int) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts)


def _names(n: int) -> tuple[str, ...]:
    return tuple(f"c{i}" for i in range(n))


@pytest.mark.parametrize(
    ("policy", "bounds"),
    [
        ("drop", [(0, 2), (2, 4), (4, 6)]),
        ("singleton_task", [(0, 2), (2, 4), (4, 6), (6, 7)]),
        ("merge_into_last", [(0, 2), (2, 4), (4, 7)]),
    ],
)
def test_seven_classes_at_two_per_task(policy: str, bounds: list[tuple[int, int]]) -> None:
    stream, dropped = build_stream(
        _labels(*[5] * 7), _names(7), dataclasses.replace(PARAMS, odd_class=policy)
    )
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
    adjacency, _ = adjacency_from_edges(
        rng.integers(0, 120, 900), rng.integers(0, 120, 900), 120, "g"
    )
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
    assert all(
        (np.diff(edges.indices[a:b]) > 0).all()
        for a, b in zip(edges.indptr[:-1], edges.indptr[1:], strict=True)
    )


def test_account_counts_nodes_edges_loops_and_isolated() -> None:
    adjacency, _ = adjacency_from_edges(np.array([0, 1, 2, 2]), np.array([1, 0, 2, 4]), 5, "g")
    table = account(adjacency, np.array([0, 3, 5]))
    # node 2 has a self-loop and an edge to 4, so neither 2 nor 4 is isolated; node 3 is
    assert table.tolist() == [[3, 3, 1, 0], [2, 1, 0, 1]]


def test_fractions_must_sum_to_one() -> None:
    with pytest.raises(TaamctlError, match="must be 1"):
        dataclasses.replace(PARAMS, train=0.7)


# -------------------------------------------------------------------------------------------------


def _graph(labels: np.ndarray, given: Given, names: tuple[str, ...] | None = None) -> NodeGraph:
    """Return a ring of nodes with one feature."""
    n = len(labels)
    ring, _ = adjacency_from_edges(np.arange(n), (np.arange(n) + 1) % n, n, "g")
    classes = names or _names(int(labels.max()) + 1)
    return NodeGraph(
        "g", ring, np.ones((n, 1), np.float32), labels.astype(np.int64), classes, (), given
    )


def _split(labels: np.ndarray, given: Given, **changes: object) -> Split:
    return make_split(
        _graph(labels, given), Facts(False, None), dataclasses.replace(PARAMS, **changes)
    )


def _parts(split: Split) -> list[list[list[int]]]:
    rows = [
        split.orig_id[a:b].tolist()
        for a, b in zip(split.offset[:-1], split.offset[1:], strict=True)
    ]
    return [rows[i : i + 3] for i in range(0, len(rows), 3)]


ARRIVAL = np.array([1, 0, 2, 0, 1])


def test_given_tasks_are_taken_whatever_their_size() -> None:
    stream, dropped = build_stream(
        _labels(4, 4, 4, 4, 4), _names(5), PARAMS, Given(arrival=ARRIVAL)
    )
    assert stream.labels == (1, 3, 0, 4, 2)
    assert [(t.low, t.high) for t in stream.tasks] == [(0, 2), (2, 4), (4, 5)]
    assert dropped == ()


def test_given_tasks_may_be_set_aside() -> None:
    by_size = dataclasses.replace(PARAMS, tasks="by_size")
    assert build_stream(
        _labels(4, 4, 4, 4, 4), _names(5), by_size, Given(arrival=ARRIVAL)
    ) == build_stream(_labels(4, 4, 4, 4, 4), _names(5), by_size)


def test_a_given_task_whose_classes_are_all_too_small_is_no_task() -> None:
    stream, dropped = build_stream(
        _labels(4, 1, 4, 1, 4), _names(5), PARAMS, Given(arrival=ARRIVAL)
    )
    assert [stream.class_names[t.low : t.high] for t in stream.tasks] == [("c0", "c4"), ("c2",)]
    assert [d.name for d in dropped] == ["c1", "c3"]


@pytest.mark.parametrize("order_seed", range(4))
def test_an_order_moves_given_tasks_as_wholes(order_seed: int) -> None:
    params = dataclasses.replace(PARAMS, class_order="seeded_permutation", order_seed=order_seed)
    stream, _ = build_stream(_labels(4, 4, 4, 4, 4), _names(5), params, Given(arrival=ARRIVAL))
    assert {frozenset(stream.labels[t.low : t.high]) for t in stream.tasks} == {
        frozenset(s) for s in ((1, 3), (0, 4), (2,))
    }


def test_classes_and_given_tasks_by_their_first_node() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    time = np.array([9, 5, np.nan, 1, 3, 3, 5, 7.0])
    params = dataclasses.replace(PARAMS, class_order="time")
    stream, _ = build_stream(labels, _names(4), params, Given(time=time))
    assert stream.labels == (1, 2, 0, 3)  # 1, 3, then 5 twice: the smaller label first
    stream, _ = build_stream(
        labels, _names(4), params, Given(time=time, arrival=np.array([1, 0, 1, 0]))
    )
    assert stream.labels == (1, 3, 0, 2)


def test_time_without_times_is_refused() -> None:
    labels = _labels(4, 4)
    with pytest.raises(TaamctlError, match="class_order is time, but this graph has no times"):
        _split(labels, Given(), class_order="time")
    with pytest.raises(TaamctlError, match="parts is time, but this graph has no times"):
        _split(labels, Given(), parts="time")
    half = Given(time=np.where(labels == 0, 1.0, np.nan))
    with pytest.raises(TaamctlError, match="no node of these classes has one: c1"):
        _split(labels, half, class_order="time")
    with pytest.raises(TaamctlError, match="classes with no node with a time: c1"):
        _split(labels, half, parts="time")


def test_given_parts_are_taken_and_nodes_without_one_left_out() -> None:
    labels = np.array([0, 0, 0, 0, 1, 1, 1, -1])
    split = _split(labels, Given(part=np.array([2, 0, -1, 1, 0, 0, 2, 0], np.int8)))
    assert _parts(split) == [[[1, 4, 5], [3], [0, 6]]]
    assert split.counts.tolist() == [[1, 1, 1], [2, 0, 1]]
    assert split.stated == {"parts": "given", "left_out": 1}
    assert split.unlabelled == (1, "left out")
    assert (
        _split(
            labels, Given(part=np.array([2, 0, -1, 1, 0, 0, 2, 0], np.int8)), parts="drawn"
        ).stated
        == {}
    )


def test_a_class_without_a_given_training_node_is_refused_by_name() -> None:
    with pytest.raises(TaamctlError, match="classes with no node given to train: c1") as error:
        _split(np.array([0, 0, 1, 1]), Given(part=np.array([0, 2, 1, -1], np.int8)))
    assert "split.parts to drawn" in error.value.hint


def test_given_parts_without_any_test_node_are_refused() -> None:
    with pytest.raises(TaamctlError, match="no node of any class is given to test"):
        _split(np.array([0, 0, 1, 1, -1]), Given(part=np.array([0, 1, 1, 0, 2], np.int8)))


def test_parts_by_time_train_on_the_oldest_and_test_on_the_newest() -> None:
    labels = np.repeat([0, 1], 6)
    time = np.array([5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, np.nan])
    split = _split(labels, Given(time=time), parts="time")
    assert _parts(split) == [[[3, 4, 5, 6, 7, 8], [2, 9], [0, 1, 10]]]
    assert split.stated == {"parts": "time", "left_out": 1}


def test_what_is_not_stated_is_drawn_as_ever() -> None:
    labels = _labels(9, 8, 7, 6)
    plain, stated = (
        _split(labels, g)
        for g in (Given(), Given(time=np.arange(30.0), node_id=np.array(["n"] * 30)))
    )
    assert stated.stated == plain.stated == {}
    assert np.array_equal(plain.orig_id, stated.orig_id)
    assert np.array_equal(plain.offset, stated.offset)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_any_given_stream_partitions_what_is_kept(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    classes, n = data.draw(st.integers(1, 6)), data.draw(st.integers(12, 60))
    labels = rng.integers(-1, classes, n)
    labels[: 2 * classes] = np.repeat(np.arange(classes), 2)
    part = rng.integers(-1, 3, n).astype(np.int8)
    part[: 2 * classes : 2], part[1] = 0, 2
    time = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 5, n))
    time[: 2 * classes] = rng.integers(0, 5, 2 * classes)
    arrival = np.unique(rng.integers(0, 4, classes), return_inverse=True)[1].astype(np.int64)
    how = data.draw(st.sampled_from(["as_given", "drawn", "time"]))
    split = _split(
        labels,
        Given(arrival, part, time),
        parts=how,
        tasks=data.draw(st.sampled_from(["as_given", "by_size"])),
        class_order=data.draw(st.sampled_from(["natural", "seeded_permutation", "time"])),
        odd_class="singleton_task",
    )
    assert sorted(split.stream.labels) == list(range(classes))
    assert len(set(split.orig_id.tolist())) == len(split.orig_id)
    assert np.array_equal(np.array(split.stream.labels)[split.y], labels[split.orig_id])
    assert split.counts[:, 0].min() >= 1
    assert len(split.orig_id) + split.stated.get("left_out", 0) == (labels >= 0).sum()
    in_part = np.repeat(np.arange(len(split.offset) - 1) % 3, np.diff(split.offset))
    if how == "as_given":
        assert np.array_equal(part[split.orig_id], in_part)
    if how == "time":
        for c in range(classes):
            ages = [time[split.orig_id[(split.y == c) & (in_part == p)]] for p in range(3)]
            pairs = [
                (a.max(), b.min())
                for a, b in ((ages[0], ages[1]), (ages[0], ages[2]), (ages[1], ages[2]))
                if len(a) and len(b)
            ]
            assert all(old <= new for old, new in pairs)


def test_mixed_edges_are_those_inside_a_part_whatever_the_task() -> None:
    """Against a dense reference: both ends in val, or both in test; nothing touches a training
    node.
    """
    rng = np.random.default_rng(0)
    linked = rng.random((30, 30)) < 0.2
    order = rng.permutation(30)
    offset = np.array([0, 6, 9, 13, 20, 26, 30])
    orig_id = np.concatenate([np.sort(order[a:b]) for a, b in pairwise(offset)])
    source, target = np.nonzero(linked.T)
    adjacency, _ = adjacency_from_edges(source, target, 30, "toy")
    part = np.repeat(np.arange(6) % 3, np.diff(offset))
    same = (part[:, None] == part) & (part[:, None] > 0)
    made = to_scipy(induce_mixed(adjacency, orig_id, offset)).toarray() > 0
    assert (made == linked[np.ix_(orig_id, orig_id)] & same).all()
    assert (
        made & (np.repeat([0, 1], [13, 17])[:, None] != np.repeat([0, 1], [13, 17]))
    ).any()  # edges between tasks are kept


def test_rows_stand_in_the_readers_order_where_the_reader_has_one() -> None:
    rng = np.random.default_rng(0)
    n = 60
    a = sp.random(n, n, 0.1, random_state=rng, data_rvs=np.ones)
    labels = np.arange(n) % 4
    graph = NodeGraph(
        "g",
        canonical.from_scipy(((a + a.T) > 0).astype(np.float32), binary=True),
        np.eye(n, dtype=np.float32),
        labels,
        tuple("abcd"),
    )
    order = canonical.reader_order(graph.adjacency)
    place = np.argsort(order)
    params = dataclasses.replace(PARAMS, node_order="reader")
    split = make_split(graph, Facts(False, None), params)
    for low, high in pairwise(split.offset):
        rows = split.orig_id[low:high]
        assert (np.diff(place[rows]) > 0).all()
    assert not (np.diff(split.orig_id[: split.offset[1]]) > 0).all()
    inside = canonical.to_scipy(split.edges).toarray()
    group = np.repeat(np.arange(len(split.offset) - 1), np.diff(split.offset))
    whole = canonical.to_scipy(graph.adjacency).toarray()[np.ix_(split.orig_id, split.orig_id)]
    assert np.array_equal(inside > 0, (whole > 0) & (group[:, None] == group[None, :]))
    for low, high in pairwise(split.edges.indptr):
        assert (np.diff(split.edges.indices[low:high]) > 0).all()
    kept = make_split(graph, Facts(False, None, reordered=False), params)
    file = make_split(graph, Facts(False, None), PARAMS)
    assert np.array_equal(kept.orig_id, file.orig_id)
