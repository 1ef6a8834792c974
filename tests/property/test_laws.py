"""Laws that hold for every graph and every seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taamctl.core import registry
from taamctl.core.types import CSR, Array, NodeGraph, QueryGraph, StreamInfo, Task, TaskData
from taamctl.evaluation import matrix
from taamctl.features import group_features
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.learning.routing.queries import predict_stream
from taamctl.learning.routing.task_id import given as true_ids
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.stream.task_split import Facts, Split, make_split


def permute_nodes(graph: NodeGraph, order: Array) -> NodeGraph:
    """Return `graph` with node i being the old node `order[i]`."""
    m = to_scipy(graph.adjacency, np.int8)[order][:, order]
    x = graph.features
    given = {name: getattr(graph.given, name) for name in ("part", "time", "node_id")}
    moved = {name: values[order] for name, values in given.items() if values is not None}
    return dataclasses.replace(
        graph,
        adjacency=from_scipy(m, binary=True),
        features=x[order] if isinstance(x, np.ndarray) else from_scipy(to_scipy(x)[order]),
        labels=graph.labels[order],
        given=dataclasses.replace(graph.given, **moved),
    )


SPLIT = SplitParams(
    node_order="file",
    symmetrize="always",
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
PRE = PrecomputeParams(
    hops=2,
    max_hop=2,
    self_loops="add",
    feature_norm="none",
    backend="torch",
    ls_hops=3,
    ls_reconnect=True,
    ls_seed=0,
    store_x=False,
    store_edges=False,
)
TRAIN = TrainParams(
    epochs=4, lr=0.005, weight_decay=0.0005, balance=True, node_batch=0, device="cpu", threads=1
)
FAST = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def graph(seed: int, nodes: int = 90, classes: int = 5, features: int = 8) -> NodeGraph:
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, classes, nodes)
    adjacency, _ = adjacency_from_edges(
        rng.integers(0, nodes, 4 * nodes), rng.integers(0, nodes, 4 * nodes), nodes, "g"
    )
    return NodeGraph(
        "g",
        adjacency,
        rng.standard_normal((nodes, features)).astype(np.float32),
        labels,
        tuple(f"c{i}" for i in range(classes)),
    )


def features_of(g: NodeGraph, split: Split) -> list[group_features.Group]:
    return group_features.compute_all(
        g.features, split.orig_id, split.offset, split.edges, PRE, "none"
    )


@FAST
@given(
    st.integers(0, 10_000),
    st.sampled_from(["drop", "merge_into_last", "singleton_task"]),
    st.integers(1, 4),
)
def test_tasks_partition_classes_and_parts_partition_nodes(
    seed: int, odd: str, per_task: int
) -> None:
    g = graph(seed)
    split = make_split(
        g, Facts(False, None), dataclasses.replace(SPLIT, odd_class=odd, classes_per_task=per_task)
    )
    owned = [c for t in split.stream.tasks for c in t.classes]
    assert owned == list(range(split.stream.num_classes))
    assert len(set(split.stream.labels)) == len(split.stream.labels)
    assert len(np.unique(split.orig_id)) == len(split.orig_id), "a node lies in one part only"
    wanted = np.flatnonzero(np.isin(g.labels, split.stream.labels))
    assert sorted(split.orig_id) == wanted.tolist(), "every node of a kept class lies in some part"
    assert (np.array(split.stream.labels)[split.y] == g.labels[split.orig_id]).all()


@FAST
@given(st.integers(0, 10_000))
def test_no_edge_joins_two_parts_or_two_tasks(seed: int) -> None:
    g = graph(seed)
    split = make_split(g, Facts(False, None), SPLIT)
    group = np.repeat(np.arange(len(split.offset) - 1), np.diff(split.offset))
    rows = np.repeat(np.arange(len(split.orig_id)), np.diff(split.edges.indptr))
    assert (group[rows] == group[split.edges.indices]).all()
    whole = to_scipy(g.adjacency).toarray()
    whole = np.maximum(whole, whole.T)[np.ix_(split.orig_id, split.orig_id)]
    assert split.edges.nnz == int((whole * (group[:, None] == group[None, :])).sum()), (
        "and no other edge is lost"
    )


@FAST
@given(st.integers(0, 10_000))
def test_propagation_is_linear_and_permutation_equivariant(seed: int) -> None:
    g = graph(seed)
    n = g.num_nodes
    rng = np.random.default_rng(seed)
    offset = np.array([0, n])

    def h(x: np.ndarray, adjacency: CSR) -> np.ndarray:
        return group_features.compute_all(x, np.arange(n), offset, adjacency, PRE, "none")[
            0
        ].h.rows(0, n)

    assert isinstance(g.features, np.ndarray)
    a, b = (
        h(g.features, g.adjacency),
        h(rng.standard_normal(g.features.shape).astype(np.float32), g.adjacency),
    )
    rng = np.random.default_rng(seed)
    mixed = 2 * g.features - rng.standard_normal(g.features.shape).astype(np.float32)
    assert np.allclose(h(mixed, g.adjacency), 2 * a - b, atol=1e-4)
    order = rng.permutation(n)
    moved = permute_nodes(g, order)
    assert isinstance(moved.features, np.ndarray)
    assert np.allclose(h(moved.features, moved.adjacency), a[order], atol=1e-5)


@FAST
@given(st.integers(0, 10_000), st.sampled_from(["val", "test"]))
def test_nothing_outside_the_training_part_reaches_it(seed: int, part: str) -> None:
    """Huge features and rewired edges in val or test change no byte of what training reads."""
    g = graph(seed)
    split = make_split(g, Facts(False, None), SPLIT)
    which = {"val": 1, "test": 2}[part]
    group = np.repeat(np.arange(len(split.offset) - 1), np.diff(split.offset))
    victims = split.orig_id[group % 3 == which]
    if not len(victims):
        return
    rng = np.random.default_rng(seed)
    x = np.array(g.features)
    x[victims] = 1e20
    rows = np.repeat(np.arange(g.num_nodes), np.diff(g.adjacency.indptr))
    touched = np.isin(rows, victims)
    source = np.array(g.adjacency.indices, np.int64)
    source[touched] = rng.choice(victims, int(touched.sum()))
    touched_source = np.isin(g.adjacency.indices, victims) & ~touched
    rows[touched_source] = rng.choice(victims, int(touched_source.sum()))
    adjacency, _ = adjacency_from_edges(source, rows, g.num_nodes, "g")
    other = NodeGraph("g", adjacency, x, g.labels, g.class_names)
    other_split = make_split(other, Facts(False, None), SPLIT)
    before, after = features_of(g, split), features_of(other, other_split)
    for k in range(len(split.stream.tasks)):
        one, two = (made[3 * k].stored(PRE) for made in (before, after))
        assert all(
            np.array_equal(one[name], two[name]) for name in ("H", "spread", "hop_mean", "ls_mean")
        )


def _taam(profile: str) -> tuple[type, object, StreamInfo, list[TaskData], list[QueryGraph]]:
    module = registry.load("taamctl.methods", "taam")
    params = module.Params(
        profile=profile,
        d_task=6,
        heads=2,
        rank=4,
        layer_norm=True,
        residual=True,
        precision="float32",
    )
    rng = torch.Generator().manual_seed(0)
    info = StreamInfo(12, ((0, 2), (2, 4), (4, 6)))
    tasks, queries = [], []
    for k, (low, high) in enumerate(info.bounds):
        centre = torch.randn(2, 12, generator=rng) * 2
        y = torch.arange(40) % 2
        h = centre[y] + torch.randn(40, 12, generator=rng)
        tasks.append(TaskData(Task(k, low, high), h, y + low, torch.ones(40)))
        queries.append(QueryGraph(centre[y] + torch.randn(40, 12, generator=rng), torch.ones(40)))
    return module.Method, params, info, tasks, queries


@pytest.mark.parametrize("profile", ["release", "text"])
def test_task_order_does_not_change_a_bit_of_a_modulator(profile: str) -> None:
    cls, params, info, tasks, _ = _taam(profile)
    states = {}
    for order in ([0, 1, 2], [2, 0, 1]):
        method = cls(params, info, TRAIN, 1, torch.device("cpu"))
        assert method.independent
        for k in order:
            method.learn([tasks[k]])
            states.setdefault(k, []).append(method.state())
    for first, second in states.values():
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[n], second[n]) for n in first)


@pytest.mark.parametrize(
    ("profile", "scope"),
    [
        ("release", "up_to_task"),
        ("release", "task_only"),
        ("text", "task_only"),
        ("text", "up_to_task"),
        ("strict_gcil", "up_to_task"),
    ],
)
def test_taam_forgets_nothing_while_task_ids_are_right(
    profile: str, scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls, params, info, tasks, queries = _taam(profile)
    method = cls(params, info, TRAIN, 1, torch.device("cpu"))
    states = []
    for task in tasks:
        method.learn([task])
        states.append(method.state())
    quick = predict_stream(method, states, queries, true_ids(3).choice)
    monkeypatch.setattr(
        cls, "cumulative", property(lambda self: False)
    )  # each stage's own model is asked, not the last one for all
    predicted = predict_stream(method, states, queries, true_ids(3).choice)
    assert all(np.array_equal(quick[name], predicted[name]) for name in quick)
    assert {array.dtype for array in predicted.values()} == {np.dtype(np.int16)}
    y, owner = torch.cat([t.y for t in tasks]).numpy(), np.repeat([0, 1, 2], 40)
    m = matrix.accuracy_matrix(y, owner, predicted[scope], np.array(info.bounds), "balanced")
    assert matrix.average_forgetting(m) == 0.0


def test_an_untrained_network_scores_what_chance_says() -> None:
    """Frozen random weights, the right task ID, no modulation: (1/T) sum 1/(2k) up to the task,
    1/2 in it, 1/C over all.
    """
    t, n, f, seeds = 4, 400, 64, 60
    from torch.nn import functional

    from taamctl.models import heads
    from taamctl.models.backbones import FrozenBackbone

    rng = torch.Generator().manual_seed(5)
    right = np.zeros((seeds, t, 3))
    h = torch.rand(t, n, f, generator=rng)
    for seed in range(seeds):
        backbone = FrozenBackbone.draw(f, seed)
        blocks = [heads.draw_rows(seed, k, 2 * k, 2 * k + 2) for k in range(t)]
        weight, bias = torch.cat([w for w, _ in blocks]), torch.cat([b for _, b in blocks])
        for k in range(t):
            y = torch.arange(n) % 2 + 2 * k
            logits = backbone.logits(functional.linear(h[k], backbone.w1), weight, bias)
            for i, (low, high) in enumerate(((0, 2 * t), (0, 2 * k + 2), (2 * k, 2 * k + 2))):
                right[seed, k, i] = (logits[:, low:high].argmax(1) + low == y).float().mean()
    mean, error = right.mean((0, 1)), right.mean(1).std(0) / seeds**0.5
    want = np.array([1 / (2 * t), sum(1 / (2 * k) for k in range(1, t + 1)) / t, 0.5])
    assert (np.abs(mean - want) < 4 * error + 1e-3).all(), (mean, want, error)
