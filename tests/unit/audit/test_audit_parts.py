"""What an audit perturbs, what it leaves alone, and what it tells of a split, on graphs small
enough to count.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from taamctl.audit.checks import SplitArrays, duplicates, structure
from taamctl.audit.perturb import KINDS, perturb, split_changes
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, symmetrise
from taamctl.stream.induce import induce

N, OFFSET = 14, np.array([0, 4, 5, 7, 10, 11, 12])  # two tasks; nodes 12 and 13 are in no part
TRAIN = np.array([0, 1, 2, 3, 7, 8, 9])


def _graph(sparse: bool = False) -> NodeGraph:
    rng = np.random.default_rng(0)
    adjacency, _ = adjacency_from_edges(rng.integers(0, N, 60), rng.integers(0, N, 60), N, "g")
    x = (rng.random((N, 5)) * (rng.random((N, 5)) < 0.6)).astype(np.float32)
    x[13] = 0
    labels = np.array([0, 1, 0, 1, 0, 1, 0, 2, 3, 2, 3, 2, -1, 3])
    return NodeGraph(
        "g", adjacency, from_scipy(_scipy(x)) if sparse else x, labels, ("a", "b", "c", "d")
    )


def _scipy(x: np.ndarray) -> object:
    import scipy.sparse as sp

    return sp.csr_matrix(x)


def _dense(x: np.ndarray | CSR) -> np.ndarray:
    if isinstance(x, np.ndarray):
        return x
    out = np.zeros(x.shape, np.float32)
    assert x.data is not None
    out[np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices] = x.data
    return out


def _split(graph: NodeGraph) -> SplitArrays:
    nodes = np.arange(12)
    edges = induce(symmetrise(graph.adjacency), nodes, OFFSET)
    return SplitArrays(
        np.arange(4),
        np.array([[0, 2], [2, 4]]),
        OFFSET,
        nodes,
        graph.labels[:12],
        edges.indptr,
        edges.indices,
    )


def _pairs(adjacency: CSR, nodes: np.ndarray) -> set[tuple[int, int]]:
    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    keep = np.isin(rows, nodes) & np.isin(adjacency.indices, nodes)
    return set(zip(rows[keep].tolist(), adjacency.indices[keep].tolist(), strict=True))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_noise_reaches_every_other_node_and_no_training_node(sparse: bool) -> None:
    graph = _graph(sparse)
    made = perturb(graph, _split(graph), "features")
    before, after = _dense(graph.features), _dense(made.graph.features)
    assert np.array_equal(before[TRAIN], after[TRAIN])
    others = np.setdiff1d(np.arange(N), TRAIN)
    assert made.count == len(others)
    assert (after[others].max(axis=1) >= 500).all()
    if isinstance(made.graph.features, CSR):
        rows = np.repeat(np.arange(N), np.diff(made.graph.features.indptr))
        assert (
            np.diff(rows * 5 + made.graph.features.indices) > 0
        ).all()  # increasing and unique inside a row
    assert made.graph.adjacency is graph.adjacency
    assert np.array_equal(made.graph.labels, graph.labels)


def test_noise_reaches_features_that_store_no_values() -> None:
    graph = _graph(sparse=True)
    assert isinstance(graph.features, CSR)
    made = perturb(
        dataclasses.replace(graph, features=dataclasses.replace(graph.features, data=None)),
        _split(graph),
        "features",
    )
    after = _dense(made.graph.features)
    assert np.array_equal(after[TRAIN], (_dense(graph.features)[TRAIN] > 0).astype(np.float32))
    assert (np.delete(after, TRAIN, axis=0).max(axis=1) >= 500).all()


def test_rewiring_keeps_exactly_the_edges_between_training_nodes() -> None:
    graph = _graph()
    made = perturb(graph, _split(graph), "edges")
    assert _pairs(made.graph.adjacency, TRAIN) == _pairs(graph.adjacency, TRAIN)
    assert made.count == graph.adjacency.nnz - len(_pairs(graph.adjacency, TRAIN))
    assert _pairs(made.graph.adjacency, np.arange(N)) != _pairs(graph.adjacency, np.arange(N))
    assert np.array_equal(made.graph.features, graph.features)


def test_labels_move_among_val_and_test_nodes_only() -> None:
    graph = _graph()
    split = _split(graph)
    made = perturb(graph, split, "labels")
    parts = np.setdiff1d(np.arange(12), TRAIN)
    assert np.array_equal(np.delete(made.graph.labels, parts), np.delete(graph.labels, parts))
    assert sorted(made.graph.labels[parts]) == sorted(graph.labels[parts])
    assert np.array_equal(made.y, made.graph.labels[:12])
    assert made.count == int((made.y != split.y).sum()) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_disturbed_split_keeps_the_training_side(kind: str) -> None:
    graph = _graph()
    split = _split(graph)
    made = perturb(graph, split, kind)
    changes = split_changes(split, made.y, symmetrise(made.graph.adjacency))
    new = dataclasses.replace(
        split,
        y=changes["nodes/y"],
        indptr=changes["edges/indptr"],
        indices=changes["edges/indices"],
    )
    assert np.array_equal(new.y[new.in_train], split.y[split.in_train])
    for low, high in ((0, 4), (7, 10)):
        old_rows, new_rows = split.edges.rows(low, high), new.edges.rows(low, high)
        assert np.array_equal(old_rows.indptr, new_rows.indptr)
        assert np.array_equal(old_rows.indices, new_rows.indices)
    assert changes["classes/count"].sum() == 12


def _verdicts(split: SplitArrays, graph: NodeGraph) -> dict[str, tuple[str, str]]:
    return {
        c.subject: (c.verdict, c.detail)
        for c in structure(split, graph, symmetrise(graph.adjacency), None)
    }


def test_a_right_split_fulfils_every_law() -> None:
    graph = _graph()
    assert {v for v, _ in _verdicts(_split(graph), graph).values()} == {"ok"}


def test_each_broken_law_is_told_with_its_culprit() -> None:
    graph = _graph()
    split = _split(graph)
    twice = _verdicts(dataclasses.replace(split, orig_id=np.array([*range(11), 2])), graph)
    assert twice["nodes"] == (
        "failed",
        "node 2 is in (task 1, train) and in (task 2, test); 1 such",
    )
    assert twice["edges of the graph"][0] == "not run"
    indptr = np.concatenate([split.indptr[:-1], [split.indptr[-1] + 1]])
    crossing = _verdicts(
        dataclasses.replace(split, indptr=indptr, indices=np.append(split.indices, np.int32(0))),
        graph,
    )
    assert crossing["edges"] == (
        "failed",
        "an edge joins node 0 (task 1, train) and node 11 (task 2, test); 1 such",
    )
    classes = _verdicts(dataclasses.replace(split, bounds=np.array([[0, 3], [2, 4]])), graph)
    assert classes["classes"] == ("failed", "task 2 has the classes 2..3 but should start at 3")
    foreign = _verdicts(
        split, dataclasses.replace(graph, adjacency=adjacency_from_edges([0], [1], N, "g")[0])
    )
    assert foreign["edges of the graph"][0] == "failed"
    assert "not in the graph" in foreign["edges of the graph"][1]
    short = _verdicts(dataclasses.replace(split, y=split.y[:-1]), graph)
    assert short["arrays"] == ("failed", "nodes/y has 11 labels for 12 nodes")
    assert {v for v, _ in short.values()} == {"failed", "not run"}


def test_parts_are_those_that_the_graph_states_where_they_should_be() -> None:
    split, part = _split(_graph()), np.full(N, -1, np.int8)
    part[:12] = split.groups % 3
    for node, said in ((11, "ok"), (4, "failed")):
        stated = part.copy()
        stated[node] = part[node] if said == "ok" else 0
        graph = dataclasses.replace(_graph(), given=Given(part=stated))
        found = structure(split, graph, symmetrise(graph.adjacency), None, as_given=True)[-1]
        assert (found.subject, found.verdict) == ("parts", said)
    assert found.detail == "node 4 is in (task 1, val), but the graph states that it is train"


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_duplicates_need_the_same_label_too(sparse: bool) -> None:
    graph = _graph()
    x = np.asarray(graph.features).copy()
    x[5], x[6] = x[1], x[1]  # val or test nodes of classes 1 and 0; node 1 has class 1
    graph = dataclasses.replace(graph, features=from_scipy(_scipy(x)) if sparse else x)
    found = duplicates(_split(graph), graph)
    assert (found.verdict, found.detail) == (
        "warning",
        "1 of 5 val and test nodes (20.0 %) equal a training node, such as node 5 and node 1",
    )
    assert duplicates(_split(_graph()), _graph()).verdict == "ok"
