"""What a split would make of a graph, what that costs, and what to change: all of it before
anything is computed. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taamctl.core.types import PARTS, Array, NodeGraph
from taamctl.core.units import MIB
from taamctl.doctor.graph_stats import FeatureFacts, GraphFacts
from taamctl.doctor.task_ids import Routed
from taamctl.evaluation import routing
from taamctl.graph import telling_features
from taamctl.params.split_params import SplitParams
from taamctl.planning import costs
from taamctl.planning.costs import Rates, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding
from taamctl.stream.order import Dropped
from taamctl.stream.task_split import Split

SHOWN = 8  # names in one finding
TEST = PARTS.index("test")


@dataclass(frozen=True)
class TaskFacts:
    """A task: its classes, and the nodes of its parts."""

    task: int
    classes: list[str]
    train: int
    val: int
    test: int


@dataclass(frozen=True)
class PartFacts:
    """A part of all tasks; `isolated` nodes have no edge inside it."""

    nodes: int
    edges: int
    isolated: int


@dataclass(frozen=True)
class StreamFacts:
    """The stream that a split makes, and what the parts lose by being apart.

    Attributes:
        test_twins: test nodes with the features of a training node.
        one_class_tasks: tasks whose test nodes are of one class.
        classes_without: part -> classes that have no node in it.
    """

    tasks: list[TaskFacts]
    parts: dict[str, PartFacts]
    edges_used: int
    edges_kept: int
    edges_lost_share: float
    test_twins: int
    one_class_tasks: list[str]
    dropped: tuple[Dropped, ...]
    classes_without: dict[str, list[str]]
    stated: dict[str, object]
    unlabelled: tuple[int, str]


@dataclass(frozen=True)
class Estimate:
    """Bytes and seconds of one run of a stage, and how often it runs."""

    stage: str
    memory: int
    disk: int
    seconds: float
    times: int


def split_facts(split: Split, codes: Array) -> StreamFacts:
    """Return what a split is like.

    Args:
        codes: equal for nodes with equal features.
    """
    names, tasks = split.stream.class_names, split.stream.tasks
    table = split.table.reshape(len(tasks), len(PARTS), -1)  # nodes, edges, -, isolated
    kept, used = int(table[:, :, 1].sum()), split.edges_before[1]
    in_part = np.repeat(np.arange(len(split.offset) - 1) % len(PARTS), np.diff(split.offset))
    ours = codes[split.orig_id]
    tested = split.counts[:, TEST] > 0
    sums = table[:, :, [0, 1, 3]].sum(0).tolist()
    return StreamFacts(
        tasks=[
            TaskFacts(t.index, list(names[t.low : t.high]), *table[t.index, :, 0].tolist())
            for t in tasks
        ],
        parts={part: PartFacts(*sums[p]) for p, part in enumerate(PARTS)},
        edges_used=used,
        edges_kept=kept,
        edges_lost_share=1 - kept / used if used else 0.0,
        test_twins=int(np.isin(ours[in_part == TEST], ours[in_part == 0]).sum()),
        one_class_tasks=[str(t.index) for t in tasks if tested[t.low : t.high].sum() == 1],
        dropped=split.dropped,
        classes_without={
            part: [names[c] for c in np.flatnonzero(split.counts[:, p] == 0)]
            for p, part in enumerate(PARTS)
        },
        stated=split.stated,
        unlabelled=split.unlabelled,
    )


def _classes(s: StreamFacts, params: SplitParams) -> Iterator[Finding]:
    over = [f"{d.name} ({d.nodes:,})" for d in s.dropped if d.reason.startswith("leftover")]
    small = [f"{d.name} ({d.nodes})" for d in s.dropped if not d.reason.startswith("leftover")]
    if small:
        yield Finding(
            WARN,
            f"{_count(small, 'class', 'classes')} with fewer than {params.min_class_size} nodes "
            f"left out (split.small_class: drop): {_some(small)}",
            "join them to others in the source; or set split.small_class: refuse to be stopped by "
            "such classes",
        )
    if over:
        yield Finding(
            WARN,
            f"{_count(over, 'class', 'classes')} left over at the end and left out "
            f"(split.odd_class: drop): {_some(over)}",
            "set split.odd_class: merge_into_last",
            ("split.odd_class=merge_into_last",),
        )


def _tasks(s: StreamFacts, params: SplitParams) -> Iterator[Finding]:
    if len(s.tasks) == 1:
        yield Finding(
            WARN,
            "there is one task only: nothing comes after it, so nothing can be forgotten",
            "bring more classes, or state another stream in the source; tasks of one class each "
            "would make AA nothing but task-ID accuracy",
        )
    if alone := s.one_class_tasks:
        yield Finding(
            WARN,
            f"{_count(alone, 'test graph holds', 'test graphs hold')} one class only (task "
            f"{_some(alone)}): AA is nothing but task-ID accuracy there",
            "set split.classes_per_task: 2 or more and split.odd_class: merge_into_last, or join "
            "tasks in the source",
        )


def _parts(s: StreamFacts, params: SplitParams) -> Iterator[Finding]:
    redraw = "set split.parts: drawn" if s.stated.get("parts") == "given" else ""
    for part, level in (("val", NOTE), ("test", WARN)):
        if lacking := s.classes_without[part]:
            yield Finding(
                level,
                f"{_count(lacking, 'class', 'classes')} without a {part} node, left out of the "
                f"means over {part}: {_some(lacking)}",
                redraw or "such a class needs more nodes (3 or more)",
            )
    if left_out := s.stated.get("left_out"):
        what = f"{left_out:,} labelled nodes have no part and are left out"
        yield Finding(NOTE, what, redraw or "give them a time in the source")


def _test_nodes(s: StreamFacts, params: SplitParams) -> Iterator[Finding]:
    test = s.parts["test"]
    if 2 * test.isolated > test.nodes:
        share = 100 * test.isolated / test.nodes
        yield Finding(
            NOTE,
            f"{share:.1f} % of the test nodes have no edge inside their part",
            "a larger split.test keeps more edges; no edge may join two parts or two tasks",
        )
    if 100 * s.test_twins > test.nodes:
        yield Finding(
            WARN,
            f"{s.test_twins:,} of {test.nodes:,} test nodes have the features of a training node, "
            "so they measure memory too",
            "drop duplicate nodes in the source",
        )


def stream_findings(graph: NodeGraph, facts: StreamFacts, params: SplitParams) -> list[Finding]:
    """Return what there is to say about tasks and parts."""
    out = [f for find in (_classes, _tasks, _parts, _test_nodes) for f in find(facts, params)]
    nodes, what_became = facts.unlabelled
    if nodes:
        out.append(Finding(NOTE, f"{nodes:,} nodes have no label: {what_became}"))
    if graph.given.time is not None and "time" not in (params.class_order, params.parts):
        what = "the graph states times, and the split does not use them"
        mend = (
            "set split.class_order: time (classes as they appear) or split.parts: time (train on "
            "the oldest nodes)"
        )
        out.append(Finding(NOTE, what, mend))
    return out


def routing_findings(routed: Routed) -> list[Finding]:
    """Return why task-ID inference would fail, as validation tells it, and what to set where
    another profile and metric do better.
    """
    found = routing.Evidence(**routed)
    doubts = routing.doubts(found)
    changes = routing.instead(found)
    if changes:
        mend = "set " + " and ".join(change.replace("=", ": ") for change in changes)
        return [Finding(WARN, doubt, mend, changes) for doubt in doubts]
    mend = (
        "route per node (taamctl eval --lens), or use a method that needs no task ID, such as "
        "analytic"
    )
    return [Finding(WARN, doubt, mend) for doubt in doubts]


def _edges(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    edges = facts["edges"]
    if joined and edges["one_way_share"] > 0.01:
        yield Finding(
            NOTE,
            f"{100 * edges['one_way_share']:.1f} % of the edges have no reverse; all are used "
            f"both ways: {edges['stored']:,} become {edges['symmetrised']:,}",
            "set split.symmetrize: never to keep their direction",
        )
    if not edges["stored"]:
        what = "there is no edge: every node has its own features only"
        yield Finding(WARN, what, "check the edge list")


def _features(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    x = facts["features"]
    if x["empty_rows"]:
        yield Finding(NOTE, f"{x['empty_rows']:,} nodes have no feature other than 0")
    if x["empty_columns"]:
        what = f"{x['empty_columns']:,} of {x['count']:,} features are 0 for every node"
        yield Finding(NOTE, what, "drop them in the source")
    if max(abs(x["low"]), abs(x["high"])) > 100:
        norm = x["low"] >= 0 and x["count"] > 1
        yield Finding(
            WARN,
            f"features run from {x['low']:.4g} to {x['high']:.4g}: training steps are made for "
            "values near 1",
            f"scale them in the source{' or set precompute.feature_norm: row' if norm else ''}",
        )


def _neighbours(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    twins = facts["features"]["duplicates_of_two_classes"]
    if twins:
        yield Finding(NOTE, f"{twins:,} nodes have the features of a node of another class")
    adjusted = facts["homophily"]["adjusted"]
    if adjusted is not None and adjusted < 0.1:
        yield Finding(
            NOTE,
            f"neighbours say little about a node's class (adjusted homophily {adjusted:.2f})",
            "compare with precompute.hops: 0, which uses no edges",
        )


def graph_findings(facts: GraphFacts, params: SplitParams, directed: bool) -> list[Finding]:
    """Return what there is to say about edges and features.

    Args:
        directed: the edges are used as directed where `symmetrize` is `as_released`.
    """
    joined = params.symmetrize == "always" or (params.symmetrize == "as_released" and not directed)
    return [f for find in (_edges, _features, _neighbours) for f in find(facts, joined)]


def estimate(
    facts: StreamFacts, features: FeatureFacts, nodes: int, work: Workload, rates: Rates
) -> list[Estimate]:
    """Return what every stage takes, from counts alone; train, infer: one run of a modulator.

    Args:
        nodes: of the whole graph.
    """
    train, val, test = (facts.parts[part] for part in PARTS)
    filled = features["density"] if features["kind"] == "sparse" else 1.0
    degree = facts.edges_kept / max(1, train.nodes + val.nodes + test.nodes)
    counts = costs.Counts(
        nodes=nodes,
        used=facts.edges_used,
        kept=facts.edges_kept,
        mixed=val.edges + test.edges,
        features=features["count"],
        filled=filled,
        filled_h=costs.reach(filled, degree, work.hops),
        classes=sum(len(t.classes) for t in facts.tasks),
        tasks=len(facts.tasks),
        train=train.nodes,
        val=val.nodes,
        test=test.nodes,
        largest=max(t.train for t in facts.tasks),
    )
    priced = (
        (costs.split(counts, rates), 1),
        (costs.precompute(counts, work, rates), 1),
        (costs.train_modulated(counts, work, rates), work.runs),
        (costs.infer(counts, rates, costs.modulated_answer(counts), once=True), work.runs),
    )
    return [Estimate(c.stage, int(c.memory), int(c.disk), c.seconds, n) for c, n in priced]


def room_findings(estimates: list[Estimate], memory: int, disk: int) -> list[Finding]:
    """Return whether the machine has room, in bytes, for every stage."""
    out = []
    largest = max(estimates, key=lambda e: e.memory)
    total = sum(e.disk * e.times for e in estimates)
    if largest.memory > memory:
        what = (
            f"{largest.stage} needs about {largest.memory / MIB:,.0f} MiB of memory, there are "
            f"{memory / MIB:,.0f}"
        )
        mend = "take a machine with more memory, or fewer nodes or features"
        out.append(Finding(STOP, what, mend))
    if total > disk:
        what = f"the artefacts need about {total / MIB:,.0f} MiB, {disk / MIB:,.0f} are free"
        mend = (
            "free some, or set precompute.store_x: false and precompute.store_edges: false (fewer "
            "methods run then)"
        )
        out.append(Finding(STOP, what, mend))
    return out


def telling_findings(graph: NodeGraph) -> list[Finding]:
    """Return the features that tell the class, or are none."""
    names = graph.feature_names
    return [
        Finding(
            NOTE if found.kind == "constant" else WARN,
            telling_features.sentence(found, names),
            telling_features.mend(found, names),
        )
        for found in telling_features.telling(graph)
    ]


def _count(names: list[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
