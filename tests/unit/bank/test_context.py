"""New nodes beside old ones: they see the neighbours that they link to, and nothing is asked or
learned of those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.bank import add, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import Config
from taamctl.bank.context import joined
from taamctl.bank.graph_source import Source
from taamctl.bank.predict_options import PredictOptions
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.stream.induce import message_edges

MakeGraph = Callable[..., NodeGraph]


def cut(graph: NodeGraph, new: np.ndarray, rng: np.random.Generator) -> tuple[NodeGraph, NodeGraph]:
    """Return the nodes `new` of a graph and its others, as an import with a context leaves them;
    the columns of the others stand in another order.
    """
    old = np.setdiff1d(np.arange(graph.num_nodes), new)
    m = to_scipy(graph.adjacency, np.int8)
    x = graph.features
    assert isinstance(x, np.ndarray)
    names = np.array([f"n{i}" for i in range(graph.num_nodes)], object)
    columns = tuple(f"width {i}" for i in range(graph.num_features))
    place = np.full(graph.num_nodes, -1)
    place[new] = np.arange(len(new))
    receives, sends = m.nonzero()
    into = (place[receives] >= 0) & (place[sends] < 0)
    out = (place[receives] < 0) & (place[sends] >= 0)
    outside = Outside(
        np.concatenate([place[receives[into]], place[sends[out]]]).astype(np.int64),
        np.concatenate([names[sends[into]], names[receives[out]]]),
        np.arange(into.sum() + out.sum()) < into.sum(),
    )
    order = rng.permutation(graph.num_features)
    made = [
        NodeGraph(
            "g",
            from_scipy(m[ids][:, ids], binary=True),
            np.ascontiguousarray(x[ids][:, columns_of]),
            graph.labels[ids],
            graph.class_names,
            (),
            Given(node_id=names[ids]),
            tuple(columns[c] for c in columns_of),
            beyond,
        )
        for ids, columns_of, beyond in (
            (new, np.arange(len(columns)), outside),
            (old, order, None),
        )
    ]
    return made[0], made[1]


@pytest.fixture
def parted(graph: MakeGraph) -> tuple[NodeGraph, NodeGraph, NodeGraph, np.ndarray]:
    """Return a graph, the new nodes of it, its other nodes, and which are new."""
    rng = np.random.default_rng(11)
    whole = graph(("a", "b", "c", "d"), per_class=25, seed=5)
    new = np.sort(rng.choice(whole.num_nodes, 30, replace=False))
    return whole, *cut(whole, new, rng), new


def test_two_graphs_joined_are_the_whole(parted) -> None:
    whole, new_graph, old_graph, new = parted
    made = joined(Source(new_graph), Source(old_graph))
    old = np.setdiff1d(np.arange(whole.num_nodes), new)
    order = np.concatenate([new, old])
    expected = to_scipy(whole.adjacency, np.int8)[order][:, order]
    assert (to_scipy(made.graph.adjacency, np.int8) != expected).nnz == 0
    assert np.array_equal(made.graph.features, whole.features[order])
    assert made.context == len(old)
    assert made.graph.labels[: len(new)].tolist() == whole.labels[new].tolist()
    assert set(made.graph.labels[len(new) :].tolist()) == {-1}
    assert made.graph.outside is None


@pytest.mark.parametrize("sparse", [False, True])
def test_sparse_features_are_joined_too(parted, sparse: bool) -> None:
    _, new_graph, old_graph, _ = parted
    dense = joined(Source(new_graph), Source(old_graph)).graph.features
    as_csr = from_scipy(sp.csr_matrix(old_graph.features))
    other = replace(old_graph, features=as_csr)
    own = replace(new_graph, features=CSR.of_dense(new_graph.features)) if sparse else new_graph
    found = joined(Source(own), Source(other)).graph.features
    assert isinstance(found, CSR)
    assert np.array_equal(to_scipy(found).toarray(), dense)


@pytest.mark.parametrize("decide", ["router", "expert", "soft"])
def test_new_nodes_are_answered_as_in_the_whole_graph(bank: Path, tmp_path, parted, decide) -> None:
    whole, new_graph, old_graph, new = parted
    named = replace(whole, feature_names=new_graph.feature_names)
    opened = load_bank(bank)
    for file, graph in (("new", new_graph), ("old", old_graph)):
        _imported.write(tmp_path / f"{file}.h5", graph, {})
    expected = opened.predict(named, decide=decide)
    found = opened.predict(tmp_path / "new.h5", decide=decide, context=tmp_path / "old.h5")
    assert found.node.tolist() == [f"n{i}" for i in new]
    assert np.array_equal(found.label, expected.label[new])
    assert np.allclose(found.confidence, expected.confidence[new], atol=1e-5)
    assert np.allclose(found.novelty, expected.novelty[new], atol=1e-4)
    assert not [note for note in found.notes if "another graph" in note]
    alone = opened.predict(tmp_path / "new.h5", decide=decide)
    assert not np.allclose(alone.confidence, expected.confidence[new], atol=1e-3)
    assert any("edges to" in note and "--context names it" in note for note in alone.notes)
    tight = PredictOptions(decide, limit=1 << 40, scratch=tmp_path)
    again = opened.predict(new_graph, options=tight, context=old_graph)
    assert np.array_equal(again.label, found.label)


@pytest.mark.parametrize("unit", ["node", "component", "graph"])
@pytest.mark.parametrize("router", ["ridge", "prototype"])
def test_what_else_the_context_holds_changes_nothing(bank, graph, parted, unit, router) -> None:
    _, new_graph, old_graph, _ = parted
    more = graph(("a", "d"), per_class=200, seed=9)
    both = sp.block_diag((to_scipy(old_graph.adjacency), to_scipy(more.adjacency)), "csr")
    n = old_graph.num_nodes + more.num_nodes
    larger = replace(
        old_graph,
        adjacency=from_scipy(both, binary=True),
        features=np.concatenate([old_graph.features, 3 * more.features]),
        labels=np.full(n, -1, np.int64),
        given=Given(node_id=np.array([*old_graph.given.node_id, *map(str, range(400))], object)),
    )
    opened = load_bank(bank)
    chosen = {"decide": "expert", "unit": unit, "router": router}
    one, other = (opened.predict(new_graph, context=c, **chosen) for c in (old_graph, larger))
    assert len(one.label) == len(other.label) == new_graph.num_nodes
    assert np.array_equal(one.label, other.label)
    assert np.allclose(one.confidence, other.confidence, atol=1e-5)


@pytest.mark.parametrize("self_loops", ["add"])
def test_a_part_is_propagated_over_itself_and_the_context(parted, config, self_loops) -> None:
    _, new_graph, old_graph, _ = parted
    made: Config = config()
    source = joined(Source(new_graph), Source(old_graph))
    adjacency = message_edges(source.graph.adjacency, "always", False)
    ids = np.arange(0, new_graph.num_nodes, 3)
    part = add.propagated(source, adjacency, ids, source.graph.labels[ids], made, "none")
    seen = np.concatenate([ids, np.arange(new_graph.num_nodes, source.graph.num_nodes)])
    a = to_scipy(adjacency).toarray()[np.ix_(seen, seen)].astype(np.float64)
    np.fill_diagonal(a, 1)
    scale = 1 / np.sqrt(a.sum(1))
    step = scale[:, None] * a * scale
    x = source.graph.features[seen].astype(np.float64)
    for hop, z in part.own().items():
        expected = np.linalg.matrix_power(step, hop) @ x
        assert np.allclose(z.numpy(), expected[: len(ids)], atol=1e-4), hop


def test_nothing_of_the_context_is_learned_but_its_features(tmp_path, parted, config) -> None:
    _, new_graph, old_graph, _ = parted
    kept = []
    others = replace(old_graph, labels=np.full(old_graph.num_nodes, 1, np.int64))
    for number, context in enumerate((old_graph, others, None)):
        folder = tmp_path / str(number)
        store.create(folder, config("linear_probe"))
        said: list[str] = []
        add.add(
            folder,
            Source(new_graph),
            context=None if context is None else Source(context),
            tell=said.append,
        )
        kept.append([file.read_bytes() for file in sorted(folder.rglob("tasks/*.h5"))])
        assert any("--context names it" in line for line in said) == (context is None)
    assert kept[0] == kept[1]
    assert kept[0] != kept[2]


def test_a_context_that_does_not_fit_is_refused(bank: Path, parted) -> None:
    whole, new_graph, old_graph, _ = parted
    opened = load_bank(bank)
    with pytest.raises(TaamctlError, match="keeps no edge to a node of another one"):
        opened.predict(old_graph, context=new_graph)
    fewer = replace(old_graph, given=Given(node_id=old_graph.given.node_id + "x"))
    with pytest.raises(TaamctlError, match=r"the context lacks \d+ nodes that edges lead to \('n"):
        opened.predict(new_graph, context=fewer)
    renamed = replace(old_graph, feature_names=("else", *old_graph.feature_names[1:]))
    with pytest.raises(TaamctlError, match=r"the context has other features than the graph beside"):
        opened.predict(new_graph, context=renamed)
    nameless = replace(new_graph, feature_names=())
    narrow = replace(old_graph, features=old_graph.features[:, :3], feature_names=())
    with pytest.raises(TaamctlError, match=r"has 3 features per node, the graph 12"):
        opened.predict(nameless, context=narrow)
    assert whole.outside is None
