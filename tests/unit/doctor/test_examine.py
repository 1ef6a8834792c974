from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from taamctl.core.row_codes import row_codes
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.doctor import advice, graph_advice, graph_stats, tried_advice
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, symmetrise, to_scipy
from taamctl.params.split_params import SplitParams
from taamctl.planning import costs
from taamctl.stream.task_split import Facts, make_split

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
WORK = costs.Workload(
    hops=2, max_hop=10, store_x=True, store_edges=True, epochs=200, threads=2, runs=3
)

NOTHING = Given()


def _graph(
    edges: list[tuple[int, int]], x: Any, labels: list[int], given: Given = NOTHING
) -> NodeGraph:
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    adjacency, _ = adjacency_from_edges(source, target, len(labels), "g")
    features = x if isinstance(x, CSR) else np.asarray(x, np.float32)
    return NodeGraph(
        "g",
        adjacency,
        features,
        np.array(labels, np.int64),
        tuple(f"c{i}" for i in range(max(labels) + 1)),
        (),
        given,
    )


def _big(labels: np.ndarray, given: Given = NOTHING) -> NodeGraph:
    rng = np.random.default_rng(0)
    n = len(labels)
    edges = list(
        zip(rng.integers(0, n, 4 * n).tolist(), rng.integers(0, n, 4 * n).tolist(), strict=True)
    )
    return _graph(edges, rng.normal(size=(n, 3)), labels.tolist(), given)


def _found(graph: NodeGraph, **changes: Any) -> dict[str, advice.Finding]:
    params = dataclasses.replace(PARAMS, **changes)
    facts, codes = graph_stats.graph_facts(graph)
    stream = advice.split_facts(make_split(graph, Facts(False, None), params), codes, "balanced")
    found = advice.stream_findings(graph, stream, params)
    found += graph_advice.graph_findings(facts, params, False)
    found = tried_advice.untried(found)
    return {f.what: f for f in found}


def _one(found: dict[str, advice.Finding], words: str) -> advice.Finding:
    (hit,) = [f for what, f in found.items() if words in what]
    return hit


def test_edges_by_hand() -> None:
    graph = _graph([(0, 1), (1, 0), (1, 2), (3, 3)], np.ones((5, 1)), [0, 0, 1, 1, -1])
    facts = graph_stats.edge_facts(graph, symmetrise(graph.adjacency))
    assert facts == {
        "stored": 4,
        "self_loops": 1,
        "symmetrised": 5,
        "one_way_share": pytest.approx(1 / 3),
        "isolated_nodes": 2,
        "mean_degree": pytest.approx(4 / 5),
    }


def test_homophily_by_hand() -> None:
    both = symmetrise(
        _graph(
            [(0, 1), (1, 2), (2, 3), (3, 3), (3, 4)], np.ones((5, 1)), [0, 0, 1, 1, -1]
        ).adjacency
    )
    h = graph_stats.homophily(both, np.array([0, 0, 1, 1, -1]), 2)
    assert (h["edges"], h["edge"], h["adjusted"]) == (
        6,
        pytest.approx(4 / 6),
        pytest.approx((4 / 6 - 1 / 2) / (1 / 2)),
    )
    assert graph_stats.homophily(both, np.array([0, 0, 0, 0, 0]), 1)["adjusted"] is None
    assert graph_stats.homophily(both, np.array([-1] * 5), 1)["edge"] is None


@pytest.mark.parametrize("sparse", [False, True])
def test_duplicates_and_empty_features(sparse: bool) -> None:
    x: Any = np.array(
        [[1, 0, 2], [1, 0, 2], [0, 0, 0], [0, 0, 0], [1, 0, 2], [3, 0, 0]], np.float32
    )
    if sparse:
        import scipy.sparse as sp

        x = from_scipy(sp.csr_matrix(x))
    labels = np.array([0, 1, 0, 1, -1, 0])
    facts = graph_stats.feature_facts(x, row_codes(x), labels)
    assert (
        facts["duplicate_nodes"],
        facts["duplicates_of_two_classes"],
        facts["empty_rows"],
        facts["empty_columns"],
    ) == (3, 2, 2, 1)
    assert (facts["filled"], facts["density"], facts["low"], facts["high"]) == (
        7,
        pytest.approx(7 / 18),
        0.0,
        3.0,
    )


def test_rows_without_stored_values_count_as_ones() -> None:
    x = CSR(np.array([0, 2, 4, 5]), np.array([0, 1, 0, 1, 1], np.int32), None, (3, 2))
    facts = graph_stats.feature_facts(x, row_codes(x), np.array([0, 0, 1]))
    assert (facts["filled"], facts["high"], facts["duplicate_nodes"]) == (5, 1.0, 2)
    assert to_scipy(x).nnz == facts["filled"]


def test_what_is_lost_is_named_with_the_edit_that_keeps_it() -> None:
    labels = np.repeat(np.arange(6), [20, 20, 20, 20, 20, 1])
    found = _found(_big(labels))
    small = _one(
        found, "1 class with fewer than 2 nodes left out (split.small_class: drop): c5 (1)"
    )
    over = _one(found, "1 class left over at the end and left out (split.odd_class: drop): c4 (20)")
    assert (small.level, over.level) == (advice.WARN, advice.WARN)
    assert over.changes == ("split.odd_class=merge_into_last",)
    assert "left over" not in " ".join(_found(_big(labels), odd_class="merge_into_last"))


def test_one_task_and_classes_without_test_nodes_are_named() -> None:
    found = _found(_big(np.repeat([0, 1], [30, 2])))
    assert _one(found, "one task only").changes == ()
    assert "nothing but task-ID accuracy" in _one(found, "one task only").mend, (
        "tasks of one class are no remedy"
    )
    assert _one(found, "1 class without a test node").level == advice.WARN
    part = np.zeros(40, np.int8)
    part[:5] = 2
    stated = _found(_big(np.repeat([0, 1], 20), Given(part=part, arrival=np.array([0, 0]))))
    assert _one(stated, "one task only").changes == ()
    assert (
        _one(stated, "1 class without a test node, left out of the means over test: c1").mend
        == "set split.parts: drawn"
    )
    assert _one(stated, "2 classes without a val node").level == advice.NOTE


def test_times_scales_and_twins_are_named() -> None:
    labels = np.repeat([0, 1, 2, 3], 10)
    timed = _big(labels, Given(time=np.arange(40.0)))
    assert "split.class_order: time" in _one(_found(timed), "the graph states times").mend
    assert "states times" not in " ".join(_found(timed, parts="time"))
    same = dataclasses.replace(timed, features=np.full((40, 2), 1000, np.float32))
    found = _found(same)
    assert "precompute.feature_norm: row" in _one(found, "features run from 1000 to 1000").mend
    assert (
        _one(found, "8 of 8 test nodes have the features of a training node").level == advice.NOTE
    )


def test_estimates_grow_with_what_they_count_and_room_is_checked() -> None:
    graph = _big(np.repeat(np.arange(4), 50))
    facts, codes = graph_stats.graph_facts(graph)
    stream = advice.split_facts(make_split(graph, Facts(False, None), PARAMS), codes, "balanced")

    def priced(work: costs.Workload) -> dict[str, advice.Estimate]:
        return {
            c.stage: c
            for c in advice.estimate(
                stream, facts["features"], graph.num_nodes, work, costs.REFERENCE
            )
        }

    made, less = priced(WORK), priced(dataclasses.replace(WORK, store_x=False, epochs=100))
    assert made["train"].times == 3
    assert less["precompute"].disk < made["precompute"].disk
    assert less["train"].seconds == pytest.approx(made["train"].seconds / 2)
    assert advice.room_findings(list(made.values()), 1 << 40, 1 << 40) == []
    no_memory, no_disk = advice.room_findings(list(made.values()), 1 << 20, 1 << 10)
    assert (no_memory.level, no_disk.level) == (advice.STOP, advice.STOP)
    assert "precompute.store_x: false" in no_disk.mend
