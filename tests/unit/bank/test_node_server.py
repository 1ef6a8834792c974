"""One node at a time: its answer from its neighbourhood is that of the whole graph."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.bank import add, store
from taamctl.bank.answers import Answers
from taamctl.bank.bank import Bank, asked_once, load_bank
from taamctl.bank.graph_source import Source
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.predictor import Predictor
from taamctl.bank.single_nodes import SingleNodes
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, to_scipy
from taamctl.stream.induce import message_edges

CLOSE = 1e-5
ALL = ("router", "expert", "soft")


def messy(graph: NodeGraph, seed: int) -> NodeGraph:
    """Return a graph with random one-way edges between all classes, some loops, and a hub."""
    rng = np.random.default_rng(seed)
    n = graph.num_nodes
    ends = rng.integers(0, n, (2, n))
    loops = np.tile(rng.choice(n, n // 10), (2, 1))
    hub = np.stack([rng.choice(n, n // 2, replace=False), np.full(n // 2, 3)])
    old = np.stack(to_scipy(graph.adjacency, np.int8).nonzero())[::-1]
    edges = np.concatenate([old, ends, loops, hub], 1)
    return replace(graph, adjacency=adjacency_from_edges(*edges, n, "messy")[0])


def neighbourhood(graph: NodeGraph, node: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Return the nodes from which a node is reached, in any order."""
    received = to_scipy(graph.adjacency, np.int32)
    reached = np.zeros(graph.num_nodes, np.int64)
    reached[node] = 1
    for _ in range(steps):
        reached = reached + received.T @ reached
    return rng.permutation(np.flatnonzero(reached))


def degrees(graph: NodeGraph) -> np.ndarray:
    rows = to_scipy(graph.adjacency, np.int64)
    return np.asarray(rows.sum(1)).ravel() - rows.diagonal()


def plainly(opened: Bank, graph: Source, decide: str = "router", unknown: float = 0.05) -> Answers:
    """Return the answers of a whole graph by what a server asks too."""
    options = PredictOptions(decide, "ridge", unknown=unknown)
    return asked_once(Predictor(SingleNodes(opened), options), graph)


def agree(opened: Bank, made: NodeGraph, *, directed: bool = False, sparse: bool = False, **how):
    """Hold nodes alone to the whole graph: with degrees, and with one step more."""
    rng = np.random.default_rng(0)
    whole = plainly(opened, Source(made, directed), **how)
    official = opened.predict(Source(made, directed), **how)
    assert np.array_equal(official.label, whole.label)
    assert np.array_equal(official.confidence, whole.confidence)
    server = opened.node_server(directed=directed, **how)
    used = message_edges(made.adjacency, opened.config.split.symmetrize, directed)
    received = replace(made, adjacency=used)
    for node in rng.choice(made.num_nodes, 25, replace=False).tolist():
        for more in (0, 1):
            near = neighbourhood(received, node, server.radius + more, rng)
            inside = to_scipy(made.adjacency, np.int8)[near][:, near]
            edges = np.stack(inside.nonzero())[::-1]
            degree = None
            if not more:
                degree = degrees(received)[near]
                nearer = neighbourhood(received, node, server.radius - 1, rng)
                needed = np.isin(near[edges], nearer).any(0) | (edges[0] == edges[1])
                edges = edges[:, needed]
            x = made.features[near]
            at = int(np.flatnonzero(near == node)[0])
            got = server.answer(sp.csr_matrix(x) if sparse else x, edges, at, degree)
            assert got.label == whole.names[node]
            assert got.task == whole.task[node]
            assert got.confidence == pytest.approx(whole.confidence[node], abs=CLOSE)
            if how.get("unknown") != 0:
                assert got.novelty == pytest.approx(whole.novelty[node], abs=1e-4)
                assert got.unknown == whole.unknown[node]
    return whole


@pytest.mark.parametrize("decide", ALL)
def test_a_node_alone_is_answered_as_in_the_whole_graph(bank, graph, decide) -> None:
    opened = load_bank(bank)
    made = messy(graph(tuple("abcd"), seed=7, width=0.5), 1)
    whole = agree(opened, made, decide=decide, unknown=0.2)
    assert len(set(whole.names)) == 4 and 0 < whole.unknown.sum() < made.num_nodes
    agree(opened, made, decide=decide, unknown=0, sparse=True)


@pytest.mark.parametrize(
    ("loops", "edges"),
    [("add", "always"), ("reset", "never"), ("add", "as_released"), ("reset", "as_released")],
)
def test_whatever_rule_edges_and_loops_follow(graph, tmp_path, config, loops, edges) -> None:
    rules = (f"precompute.self_loops={loops}", f"split.symmetrize={edges}")
    store.create(tmp_path / "bank", config("linear_probe", *rules))
    add.add(tmp_path / "bank", Source(messy(graph(("a", "b")), 2)))
    opened = load_bank(tmp_path / "bank")
    for directed in (False, True):
        agree(opened, messy(graph(("a", "b"), seed=5), 3), directed=directed)


def test_a_smaller_neighbourhood_would_not_do(bank, graph) -> None:
    opened = load_bank(bank)
    made = messy(graph(tuple("abcd"), seed=7, width=0.5), 1)
    server = opened.node_server()
    assert server.radius == 3 and opened.node_server(unknown=0).radius == 2
    whole = opened.predict(made)
    rng = np.random.default_rng(0)
    off = []
    for node in range(20):
        near = neighbourhood(made, node, 1, rng)
        edges = np.stack(to_scipy(made.adjacency, np.int8)[near][:, near].nonzero())[::-1]
        got = server.answer(made.features[near], edges, int(np.flatnonzero(near == node)[0]))
        off.append(abs(got.confidence - whole.confidence[node]))
    assert max(off) > 100 * CLOSE


def test_threads_may_share_a_server(bank, graph) -> None:
    made = graph(tuple("abcd"), seed=7, width=0.5)
    server = load_bank(bank).node_server(decide="soft")
    edges = np.stack(to_scipy(made.adjacency, np.int8).nonzero())[::-1]
    nodes = list(range(24))

    def ask(node: int) -> object:
        return server.answer(made.features, edges, node)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, nodes)) == [ask(node) for node in nodes]


def test_columns_come_in_any_order_by_name(tmp_path, graph, config) -> None:
    names = tuple(f"word {i}" for i in range(12))
    store.create(tmp_path / "bank", config("linear_probe"))
    add.add(tmp_path / "bank", Source(replace(graph(("a", "b")), feature_names=names)))
    opened = load_bank(tmp_path / "bank")
    made = graph(("a", "b"), seed=4)
    order = np.random.default_rng(3).permutation(12)
    plain = opened.node_server().answer(made.features[:1], [[], []])
    moved = opened.node_server(feature_names=[names[i] for i in order])
    assert moved.answer(made.features[:1, order], [[], []]) == plain
    with pytest.raises(TaamctlError, match="the server has other features than the bank") as caught:
        opened.node_server(feature_names=[*names[:-1], "other"])
    assert "word 11" in caught.value.message and "other" in caught.value.message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"x": np.zeros((3, 11))}, r"x is an array of shape \(3, 11\), expected \(n, 12\)"),
        ({"x": np.full((3, 12), np.nan)}, "x: feature 0 of row 0 is not finite"),
        ({"edges": [[0, 1, 2]]}, r"edges are an array of shape \(1, 3\)"),
        ({"edges": [[0], [3]]}, "the neighbourhood"),
        ({"node": 3}, "node 3 of a neighbourhood of 3 nodes"),
        ({"node": -1}, "node -1"),
        ({"node": "0"}, "node 0 of"),
        ({"node": 1.5}, "node 1.5 of"),
        ({"node": np.array([0, 1])}, "node .* of a neighbourhood"),
        ({"x": [["a"] * 12] * 3}, "x is no array of numbers"),
        ({"x": [[0.0] * 12, [1.0]]}, "x is no array of numbers"),
        ({"x": np.full((3, 12), 1e300)}, "x: feature 0 of row 0 is not finite"),
        ({"edges": [[0, 1], [1]]}, "edges is no array of numbers"),
        ({"degree": [[1], [1, 2]]}, "degree is no array of numbers"),
        ({"degree": [1, 0, 1]}, "degree of row 1 is 0, but the edges alone give it 1 neighbours"),
        ({"degree": [1, 1]}, r"degree is int64 \(2,\)"),
        ({"degree": [1.5, 1, 1]}, "degree is float64"),
    ],
)
def test_what_does_not_fit_is_refused(bank, changed, said) -> None:
    call = {"x": np.zeros((3, 12)), "edges": [[0], [1]], "node": 0, "degree": [1, 1, 0], **changed}
    with pytest.raises(TaamctlError, match=said) as caught:
        load_bank(bank).node_server().answer(**call)
    assert caught.value.hint
