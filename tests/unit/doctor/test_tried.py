"""Advice is measured before it is given, and what looks alike is told apart from duplicates."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import yaml

from taamctl.core.types import Array, NodeGraph
from taamctl.doctor import advice, graph_advice, graph_stats, task_ids, tried_advice
from taamctl.doctor.trial import Bench
from taamctl.evaluation import node_sampling
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params.params_file import PACKAGED
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams
from taamctl.planning.finding import WARN, Finding
from taamctl.stream.task_split import Facts, make_split

TREE = yaml.safe_load(PACKAGED.read_text(encoding="utf-8"))
HOPS = Finding(WARN, "neighbours say little", tries=("precompute.hops=0",))
COLUMN = Finding(WARN, "large values", tries=("precompute.feature_norm=column",))


def graph_of(x: Array, y: Array, edges: Array) -> NodeGraph:
    adjacency, _ = adjacency_from_edges(*edges.T, len(y), "g")
    names = tuple(f"c{c}" for c in range(int(y.max()) + 1))
    return NodeGraph("g", adjacency, x.astype(np.float32), y, names, ())


def drawn(seed: int, *, inside: float, signal: float, each: int = 60) -> NodeGraph:
    """Four classes; a share of the edges inside a class, the rest between any nodes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), each)
    x = signal * rng.standard_normal((4, 16))[y] + rng.standard_normal((len(y), 16))
    source = rng.integers(0, len(y), 6 * len(y))
    target = rng.integers(0, len(y), len(source))
    own = rng.random(len(source)) < inside
    target[own] = [rng.choice(np.flatnonzero(y == y[u])) for u in source[own]]
    return graph_of(x, y, np.stack([source, target], 1))


def bench(graph: NodeGraph, **section: Any) -> Bench:
    tree = {**TREE, "precompute": {**TREE["precompute"], **section}}
    params = Params("params.yaml", tree)
    split = make_split(graph, Facts(False, None), params.section(SplitParams))
    return Bench(graph, split, params, "none", False)


def test_what_helps_is_suggested_with_its_gain_and_interval() -> None:
    made = bench(drawn(0, inside=0.0, signal=1.5))
    (found,) = tried_advice.measured([HOPS], made)
    assert found.changes == ("precompute.hops=0",)
    (one,) = found.tried
    assert 0 < one.low < one.after - one.before < one.high
    assert found.mend.startswith(f"set precompute.hops: 0: +{100 * (one.after - one.before):.1f}")
    other = tried_advice.measured([HOPS], bench(made.graph, hops=0))
    assert other[0].tried[0].before == one.after, "the change is what it says"
    assert (other[0].tried[0].low, other[0].tried[0].high) == pytest.approx((0, 0), abs=0.1)


def test_a_routing_that_halves_speak_for_is_suggested_and_tried() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(4), 60)
    # two tasks in the same direction from the origin, at other lengths: their cosine is 1
    x = np.array([2.0, 2.0, 3.0, 3.0])[y, None] + 0.3 * rng.standard_normal((len(y), 16))
    x[:, 0] += np.where(y % 2, 1.0, -1.0)
    made = bench(graph_of(x, y, np.stack([np.arange(240), (np.arange(240) + 1) % 240], 1)))
    infer, pre = made.params.section(InferParams), made.params.section(PrecomputeParams)
    routed = task_ids.on_validation(x.astype(np.float32), made.split, pre, "none", infer)
    (doubted,) = advice.routing_findings(routed)
    pair = ("infer.profile=amp", "infer.metric=euclid")
    (found,) = tried_advice.measured([doubted], made)
    (one,) = found.tried
    assert (found.changes, one.change) == (pair, " ".join(pair))
    assert 0 < one.low < one.after - one.before
    start = "set infer.profile: amp and infer.metric: euclid"
    assert found.mend.startswith(f"{start}; tried: ")
    assert f"{100 * (one.after - one.before):+.1f} points" in found.mend
    (quick,) = tried_advice.untried([doubted])
    assert (quick.changes, quick.mend) == (pair, f"{start} (not tried)")


def test_what_does_not_help_is_tried_and_not_suggested() -> None:
    (found,) = tried_advice.measured([HOPS], bench(drawn(1, inside=0.9, signal=0.3)))
    assert found.changes == ()
    assert found.tried[0].after < found.tried[0].before
    assert "tried, and no change helps for sure: precompute.hops: 0: -" in found.mend


def test_one_large_column_is_mended_by_its_own_size() -> None:
    clean = drawn(2, inside=0.5, signal=1.0)
    views = np.random.default_rng(0).lognormal(9, 1.5, clean.num_nodes)[:, None]
    graph = dataclasses.replace(
        clean, features=np.concatenate([clean.features, views], 1).astype(np.float32)
    )
    facts, _ = graph_stats.graph_facts(graph)
    (size,) = [f for f in graph_advice.feature_findings(graph, facts) if "column 16" in f.what]
    assert size.tries == COLUMN.tries, "row sums need values of one sign"
    (found,) = tried_advice.measured([size], bench(graph))
    assert found.changes == COLUMN.tries
    assert "features run from" not in str(graph_advice.graph_findings(facts, SPLIT, False))


def test_nothing_is_tried_where_a_run_would_stop_or_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = bench(drawn(3, inside=0.5, signal=1.0))
    stop = Finding("stop", "no memory")
    *_, found = tried_advice.measured([stop, HOPS], made)
    assert (found.changes, found.tried) == ((), ())
    assert found.mend == "set precompute.hops: 0 (not tried: a run would stop)"
    monkeypatch.setattr(tried_advice, "LONGEST", 0.0)
    (found,) = tried_advice.measured([HOPS], made)
    assert "(not tried: it would take about" in found.mend
    (found,) = tried_advice.untried([HOPS])
    assert found.mend == "set precompute.hops: 0 (not tried)"


SPLIT = Params("params.yaml", TREE).section(SplitParams)


def stream_of(graph: NodeGraph) -> tuple[graph_stats.GraphFacts, advice.StreamFacts]:
    facts, alike = graph_stats.graph_facts(graph)
    split = make_split(graph, Facts(False, None), SPLIT)
    return facts, advice.split_facts(split, alike, "balanced")


def said(graph: NodeGraph) -> str:
    _, stream = stream_of(graph)
    return "\n".join(map(str, advice.stream_findings(graph, stream, SPLIT)))


def test_nodes_without_features_are_no_duplicates() -> None:
    graph = drawn(4, inside=0.5, signal=1.0)
    x = np.array(graph.features)
    x[::3] = 0
    _, stream = stream_of(dataclasses.replace(graph, features=x))
    assert (stream.test_twins, stream.test_copies) == (0, 0)


def test_coarse_features_are_no_duplicates() -> None:
    graph = drawn(5, inside=0.5, signal=1.0)
    coarse = (np.array(graph.features)[:, :3] > 0).astype(np.float32)
    coarse[:, 0] = 1
    made = dataclasses.replace(graph, features=coarse)
    _, stream = stream_of(made)
    assert stream.test_twins > 0 and stream.test_copies == 0
    assert "4 different rows of features are all there are" in said(made)
    assert "drop duplicate nodes" not in said(made)


def test_nodes_with_the_same_features_and_neighbours_are() -> None:
    graph = drawn(6, inside=0.5, signal=1.0, each=40)
    y, x = graph.labels, np.array(graph.features)
    rows = np.repeat(np.arange(len(y)), np.diff(graph.adjacency.indptr))
    edges = np.stack([rows, graph.adjacency.indices], 1)
    n = len(y)
    both = np.concatenate([edges, edges + np.array([n, 0]), edges + np.array([0, n]), edges + n])
    made = graph_of(np.concatenate([x, x]), np.concatenate([y, y]), both)
    _, stream = stream_of(made)
    assert stream.test_copies > 0.3 * stream.parts["test"].nodes
    assert "have the features and the neighbours of a training node" in said(made)


def test_a_list_that_holds_every_edge_once_has_no_direction_to_keep() -> None:
    rng = np.random.default_rng(7)
    pairs = np.unique(np.sort(rng.integers(0, 80, (300, 2)), 1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    y, x = np.repeat(np.arange(4), 20), rng.standard_normal((80, 4))

    def tries(edges: Array) -> tuple[str, ...]:
        facts, _ = graph_stats.graph_facts(graph_of(x, y, edges))
        found = graph_advice.graph_findings(facts, SPLIT, False)
        return next((f.tries for f in found if "have no reverse" in f.what), ("not said",))

    assert tries(pairs) == ()
    half = np.concatenate([pairs, pairs[: len(pairs) // 2, ::-1]])
    assert tries(half) == ("split.symmetrize=never",)
    assert tries(np.concatenate([pairs, pairs[:, ::-1]])) == ("not said",)


def test_the_interval_of_a_gain_holds_the_true_one() -> None:
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        bounds = np.array([[0, 2], [2, 4]])
        y = np.repeat(np.arange(4), rng.integers(5, 60, 4))
        first, second = rng.uniform(0.3, 0.95, (2, 4))
        before, after = rng.random(len(y)) < first[y], rng.random(len(y)) < second[y]
        gain, low, high = node_sampling.gain_interval(y, before, after, bounds, "balanced")
        recall = [(after[y == c].mean() - before[y == c].mean()) for c in range(4)]
        assert gain == pytest.approx(np.mean(recall))
        assert low <= gain <= high
        inside += low <= (second - first).mean() <= high
    assert inside >= 0.9 * 200
