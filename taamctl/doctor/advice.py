"""What a split would make of a graph, what that costs, and what to change: all of it before
anything is computed. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from taamctl.core.types import PARTS, Array, NodeGraph
from taamctl.core.units import MIB
from taamctl.doctor.graph_stats import FeatureFacts, GraphFacts
from taamctl.doctor.task_ids import Routed
from taamctl.evaluation import routing
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
        dropped, stated, unlabelled: as in `Split`.
    """

    tasks: list[TaskFacts]
    parts: dict[str, PartFacts]
    edges_used: int
    edges_kept: int
    edges_lost_share: float
    test_twins: int
    one_class_tasks: list[str]
    dropped: list[Dropped]
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
    names = split.stream.class_names
    table = split.table.reshape(-1, len(PARTS), split.table.shape[1])  # [T, part, column]
    tasks = split.stream.tasks
    kept, used = int(table[:, :, 1].sum()), split.edges_before[1]
    in_part = np.repeat(np.arange(len(split.offset) - 1) % len(PARTS), np.diff(split.offset))
    ours = codes[split.orig_id]
    tested = split.counts[:, TEST] > 0
    return StreamFacts(
        tasks=[
            TaskFacts(t.index, list(names[t.low : t.high]), *table[t.index, :, 0].tolist())
            for t in tasks
        ],
        parts={
            part: PartFacts(*table[:, p, [0, 1, 3]].sum(0).tolist()) for p, part in enumerate(PARTS)
        },
        edges_used=used,
        edges_kept=kept,
        edges_lost_share=1 - kept / used if used else 0.0,
        test_twins=int(np.isin(ours[in_part == TEST], ours[in_part == 0]).sum()),
        one_class_tasks=[str(t.index) for t in tasks if tested[t.low : t.high].sum() == 1],
        dropped=list(split.dropped),
        classes_without={
            part: [names[c] for c in np.flatnonzero(split.counts[:, p] == 0)]
            for p, part in enumerate(PARTS)
        },
        stated=split.stated,
        unlabelled=split.unlabelled,
    )


def _small_classes(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    small = [f"{d.name} ({d.nodes})" for d in s.dropped if not d.reason.startswith("leftover")]
    if not small:
        return None
    return Finding(
        WARN,
        f"{_count(small, 'class', 'classes')} with fewer than {params.min_class_size} nodes left "
        f"out (split.small_class: drop): {_some(small)}",
        "join them to others in the source; or set split.small_class: refuse to be stopped by such "
        "classes",
    )


def _left_over(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    over = [f"{d.name} ({d.nodes:,})" for d in s.dropped if d.reason.startswith("leftover")]
    if not over:
        return None
    return Finding(
        WARN,
        f"{_count(over, 'class', 'classes')} left over at the end and left out (split.odd_class: "
        f"drop): {_some(over)}",
        "set split.odd_class: merge_into_last",
        ("split.odd_class=merge_into_last",),
    )


def _one_task(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    if len(s.tasks) != 1:
        return None
    return Finding(
        WARN,
        "there is one task only: nothing comes after it, so nothing can be forgotten",
        "bring more classes, or state another stream in the source; tasks of one class each would "
        "make AA nothing but task-ID accuracy",
    )


def _one_class_tasks(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    alone = s.one_class_tasks
    if not alone:
        return None
    return Finding(
        WARN,
        f"{_count(alone, 'test graph holds', 'test graphs hold')} one class only (task "
        f"{_some(alone)}): AA is nothing but task-ID accuracy there",
        "set split.classes_per_task: 2 or more and split.odd_class: merge_into_last, or join tasks "
        "in the source",
    )


def _lacking(
    part: str, level: str, s: StreamFacts, params: SplitParams, graph: NodeGraph
) -> Finding | None:
    lacking = s.classes_without[part]
    if not lacking:
        return None
    mend = "such a class needs more nodes (3 or more)"
    if s.stated.get("parts") == "given":
        mend = "set split.parts: drawn"
    what = (
        f"{_count(lacking, 'class', 'classes')} without a {part} node, left out of the means over "
        f"{part}: {_some(lacking)}"
    )
    return Finding(level, what, mend)


def _left_out(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    if not s.stated.get("left_out"):
        return None
    mend = "give them a time in the source"
    if s.stated["parts"] == "given":
        mend = "set split.parts: drawn"
    what = f"{s.stated['left_out']:,} labelled nodes have no part and are left out"
    return Finding(NOTE, what, mend)


def _isolated(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    test = s.parts["test"]
    if 2 * test.isolated <= test.nodes:
        return None
    return Finding(
        NOTE,
        f"{100 * test.isolated / test.nodes:.1f} % of the test nodes have no edge inside their "
        "part",
        "a larger split.test keeps more edges; no edge may join two parts or two tasks",
    )


def _twins(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    nodes = s.parts["test"].nodes
    if 100 * s.test_twins <= nodes:
        return None
    return Finding(
        WARN,
        f"{s.test_twins:,} of {nodes:,} test nodes have the features of a training node, so they "
        "measure memory too",
        "drop duplicate nodes in the source",
    )


def _unlabelled(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    nodes, what_became = s.unlabelled
    return Finding(NOTE, f"{nodes:,} nodes have no label: {what_became}") if nodes else None


def _times(s: StreamFacts, params: SplitParams, graph: NodeGraph) -> Finding | None:
    if graph.given.time is None or "time" in (params.class_order, params.parts):
        return None
    return Finding(
        NOTE,
        "the graph states times, and the split does not use them",
        "set split.class_order: time (classes as they appear) or split.parts: time (train on the "
        "oldest nodes)",
    )


STREAM: tuple[Callable[[StreamFacts, SplitParams, NodeGraph], Finding | None], ...] = (
    _small_classes,
    _left_over,
    _one_task,
    _one_class_tasks,
    partial(_lacking, "val", NOTE),
    partial(_lacking, "test", WARN),
    _left_out,
    _isolated,
    _twins,
    _unlabelled,
    _times,
)


def stream_findings(graph: NodeGraph, facts: StreamFacts, params: SplitParams) -> list[Finding]:
    """Return what there is to say about tasks and parts."""
    return [found for find in STREAM if (found := find(facts, params, graph)) is not None]


def routing_findings(routed: Routed) -> list[Finding]:
    """Return why task-ID inference would fail, as validation tells it, and what to set where
    another profile and metric do better.
    """
    grid, by = routed["grid"], routed["by"]
    mend = (
        "route per node (taamctl eval --lens), or use a method that needs no task ID, such as "
        "analytic"
    )
    changes: tuple[str, ...] = ()
    accuracy, right = routed["accuracy"], routing.better(grid, by)
    if right and accuracy is not None and accuracy < 1:
        changes = routing.settings(right[0])
        mend = "set " + " and ".join(change.replace("=", ": ") for change in changes)
    doubts = routing.doubts(accuracy, routed["nearness"], grid, by)
    return [Finding(WARN, line, mend, changes) for line in doubts]


def _one_way(facts: GraphFacts, joined: bool) -> Finding | None:
    edges = facts["edges"]
    if not joined or edges["one_way_share"] <= 0.01:
        return None
    return Finding(
        NOTE,
        f"{100 * edges['one_way_share']:.1f} % of the edges have no reverse; all are used both "
        f"ways: {edges['stored']:,} become {edges['symmetrised']:,}",
        "set split.symmetrize: never to keep their direction",
    )


def _no_edge(facts: GraphFacts, joined: bool) -> Finding | None:
    if facts["edges"]["stored"]:
        return None
    what = "there is no edge: every node has its own features only"
    return Finding(WARN, what, "check the edge list")


def _empty_rows(facts: GraphFacts, joined: bool) -> Finding | None:
    empty = facts["features"]["empty_rows"]
    return Finding(NOTE, f"{empty:,} nodes have no feature other than 0") if empty else None


def _empty_columns(facts: GraphFacts, joined: bool) -> Finding | None:
    x = facts["features"]
    if not x["empty_columns"]:
        return None
    what = f"{x['empty_columns']:,} of {x['count']:,} features are 0 for every node"
    return Finding(NOTE, what, "drop them in the source")


def _scale(facts: GraphFacts, joined: bool) -> Finding | None:
    x = facts["features"]
    if max(abs(x["low"]), abs(x["high"])) <= 100:
        return None
    mend = "scale them in the source"
    if x["low"] >= 0 and x["count"] > 1:
        mend += " or set precompute.feature_norm: row"
    what = (
        f"features run from {x['low']:.4g} to {x['high']:.4g}: training steps are made for values "
        "near 1"
    )
    return Finding(WARN, what, mend)


def _two_classes(facts: GraphFacts, joined: bool) -> Finding | None:
    nodes = facts["features"]["duplicates_of_two_classes"]
    if not nodes:
        return None
    return Finding(NOTE, f"{nodes:,} nodes have the features of a node of another class")


def _heterophily(facts: GraphFacts, joined: bool) -> Finding | None:
    adjusted = facts["homophily"]["adjusted"]
    if adjusted is None or adjusted >= 0.1:
        return None
    return Finding(
        NOTE,
        f"neighbours say little about a node's class (adjusted homophily {adjusted:.2f})",
        "compare with precompute.hops: 0, which uses no edges",
    )


GRAPH = (_one_way, _no_edge, _empty_rows, _empty_columns, _scale, _two_classes, _heterophily)


def graph_findings(facts: GraphFacts, params: SplitParams, directed: bool) -> list[Finding]:
    """Return what there is to say about edges and features.

    Args:
        directed: the edges are used as directed where `symmetrize` is `as_released`.
    """
    joined = params.symmetrize == "always" or (params.symmetrize == "as_released" and not directed)
    return [found for find in GRAPH if (found := find(facts, joined)) is not None]


def estimate(
    facts: StreamFacts, features: FeatureFacts, nodes: int, work: Workload, rates: Rates
) -> list[Estimate]:
    """Return what every stage takes, from counts alone; train, infer: one run of a modulator.

    Args:
        nodes: of the whole graph.
    """
    parts, kept = facts.parts, facts.edges_kept
    rows = sum(part.nodes for part in parts.values())
    filled = features["density"] if features["kind"] == "sparse" else 1.0
    counts = costs.Counts(
        nodes=nodes,
        used=facts.edges_used,
        kept=kept,
        mixed=parts["val"].edges + parts["test"].edges,
        features=features["count"],
        filled=filled,
        filled_h=costs.reach(filled, kept / max(1, rows), work.hops),
        classes=sum(len(t.classes) for t in facts.tasks),
        tasks=len(facts.tasks),
        train=parts["train"].nodes,
        val=parts["val"].nodes,
        test=parts["test"].nodes,
        largest=max(t.train for t in facts.tasks),
    )
    answer = costs.modulated_answer(counts)
    priced = (
        (costs.split(counts, rates), 1),
        (costs.precompute(counts, work, rates), 1),
        (costs.train_modulated(counts, work, rates), work.runs),
        (costs.infer(counts, rates, answer, once=True), work.runs),
    )
    return [Estimate(c.stage, int(c.memory), int(c.disk), c.seconds, n) for c, n in priced]


def room_findings(estimates: list[Estimate], memory: int, disk: int) -> list[Finding]:
    """Return whether the machine has room for every stage.

    Args:
        memory, disk: bytes there are.
    """
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


def _count(names: list[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
