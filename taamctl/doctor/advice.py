"""What a split would make of a graph, what that costs, and what to change: all of it before
anything is computed. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core.types import PARTS, Array, NodeGraph
from taamctl.core.units import MIB
from taamctl.doctor.graph_stats import Alike, FeatureFacts
from taamctl.doctor.task_ids import Routed
from taamctl.evaluation import node_sampling, routing
from taamctl.evaluation.node_sampling import ThinClass
from taamctl.evaluation.routing import Evidence
from taamctl.params.split_params import SplitParams
from taamctl.planning import costs, ridge_costs
from taamctl.planning.costs import Rates, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding, worded
from taamctl.planning.fit import Line
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
        test_twins: test nodes with the features of a training node, and some.
        test_copies: those of them with its neighbours too.
        distinct: different rows of features, those without any left out.
        one_class_tasks: tasks whose test nodes are of one class.
        thin_classes: those of few test nodes. leaves_out: the split.min_class_size that leaves all
            of them out; 0 where hardly a class would remain.
        classes_without: part -> classes that have no node in it.
    """

    tasks: list[TaskFacts]
    parts: dict[str, PartFacts]
    edges_used: int
    edges_kept: int
    edges_lost_share: float
    test_twins: int
    test_copies: int
    distinct: int
    one_class_tasks: list[str]
    thin_classes: list[ThinClass]
    leaves_out: int
    dropped: tuple[Dropped, ...]
    classes_without: dict[str, list[str]]
    stated: dict[str, object]
    unlabelled: tuple[int, str]


@dataclass(frozen=True)
class Estimate:
    """Bytes and seconds of one run of a stage, and how often it runs; `method`: of which."""

    stage: str
    memory: int
    disk: int
    seconds: float
    times: int
    method: str = ""


def split_facts(split: Split, alike: Alike, averaging: str) -> StreamFacts:
    """Return what a split is like.

    Args:
        alike: which nodes are. averaging: of AA, `balanced` or `micro`.
    """
    names, tasks = split.stream.class_names, split.stream.tasks
    table = split.table.reshape(len(tasks), len(PARTS), -1)  # nodes, edges, -, isolated
    kept, used = int(table[:, :, 1].sum()), split.edges_before[1]
    in_part = np.repeat(np.arange(len(split.offset) - 1) % len(PARTS), np.diff(split.offset))
    trained, asked = (split.orig_id[in_part == part] for part in (0, TEST))
    tested = split.counts[:, TEST] > 0
    bounds = np.array([(t.low, t.high) for t in tasks])
    thin = node_sampling.thin_classes(split.counts[:, TEST], bounds, averaging, list(names))
    sizes = split.counts.sum(1)
    leaves_out = 1 + max((int(sizes[names.index(each.name)]) for each in thin), default=0)
    if np.count_nonzero(sizes >= leaves_out) < 2:
        leaves_out = 0
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
        test_twins=_shared(alike.features, trained, asked),
        test_copies=_shared(alike.whole, trained, asked),
        distinct=alike.distinct,
        one_class_tasks=[str(t.index) for t in tasks if tested[t.low : t.high].sum() == 1],
        thin_classes=thin,
        leaves_out=leaves_out,
        dropped=split.dropped,
        classes_without={
            part: [names[c] for c in np.flatnonzero(split.counts[:, p] == 0)]
            for p, part in enumerate(PARTS)
        },
        stated=split.stated,
        unlabelled=split.unlabelled,
    )


def _shared(codes: Array, trained: Array, asked: Array) -> int:
    """Count the nodes asked about whose code a training node has; -1 is no code."""
    own = codes[asked]
    return int(np.isin(own[own >= 0], codes[trained]).sum())


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
            f"{_some([str(int(t) + 1) for t in alone])}): AA is nothing but task-ID accuracy there",
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
    if thin := s.thin_classes:
        named = [f"{each.name!r} ({each.nodes}, {each.points:.1f} points)" for each in thin]
        mend = "join such classes to others in the source"
        if s.leaves_out:
            mend += f", or leave them out: set split.min_class_size: {s.leaves_out}"
        yield Finding(
            WARN,
            f"{_count(named, 'class has', 'classes have')} fewer than {node_sampling.FEW} test "
            f"nodes; in brackets how many, and what each is worth of AA: {_some(named)}",
            mend,
        )
    if 100 * s.test_copies > test.nodes:
        yield Finding(
            WARN,
            f"{s.test_copies:,} of {test.nodes:,} test nodes have the features and the neighbours "
            "of a training node, so they measure memory too",
            "drop duplicate nodes in the source",
        )
    elif 100 * s.test_twins > test.nodes:
        yield Finding(
            NOTE,
            f"{s.test_twins:,} of {test.nodes:,} test nodes have the features of a training node "
            f"and other neighbours: {s.distinct:,} different rows of features are all there are",
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
    another profile and metric do better: suggested as it is, for halves of the validation nodes
    speak for it, and tried so that its gain is known. Routers that learn from sums are not tried.
    """
    found = Evidence(**routed)
    doubts = routing.doubts(found)
    changes = routing.instead(found)
    if changes:
        together = " ".join(changes)
        tries = () if together.startswith("infer.router=") else (together,)
        return [Finding(WARN, doubt, f"set {worded(together)}", changes, tries) for doubt in doubts]
    mend = (
        "route per node (taamctl eval --lens), or use a method that needs no task ID, such as "
        "analytic"
    )
    return [Finding(WARN, doubt, mend) for doubt in doubts]


def counted(facts: StreamFacts, features: FeatureFacts, nodes: int, hops: int) -> costs.Counts:
    """Return the counts that prices follow from.

    Args:
        nodes: of the whole graph. hops: k of H = S^k X.
    """
    train, val, test = (facts.parts[part] for part in PARTS)
    filled = features["density"]
    degree = facts.edges_kept / max(1, train.nodes + val.nodes + test.nodes)
    return costs.Counts(
        nodes=nodes,
        used=facts.edges_used,
        kept=facts.edges_kept,
        mixed=val.edges + test.edges,
        features=features["count"],
        filled=filled,
        filled_h=costs.reach(filled, degree, hops),
        classes=sum(len(t.classes) for t in facts.tasks),
        tasks=len(facts.tasks),
        train=train.nodes,
        val=val.nodes,
        test=test.nodes,
        largest=max(t.train for t in facts.tasks),
        dense=features["kind"] != "sparse",
    )


def estimate(
    facts: StreamFacts, features: FeatureFacts, nodes: int, work: Workload, rates: Rates
) -> list[Estimate]:
    """Return what every stage takes, from counts alone; train, infer: one run of a modulator.

    Args:
        nodes: of the whole graph.
    """
    counts = counted(facts, features, nodes, work.hops)
    answered = costs.infer(counts, rates, costs.modulated_answer(counts), once=True)
    priced = (
        (costs.split(counts, rates), 1),
        (costs.precompute(counts, work, rates), 1),
        (costs.train_modulated(counts, work, rates), work.runs),
        (ridge_costs.with_routers(answered, counts, work, rates), work.runs),
    )
    return [Estimate(c.stage, int(c.memory), int(c.disk), c.seconds, n) for c, n in priced]


def estimate_of(lines: Sequence[Line]) -> list[Estimate]:
    """Return the stages of a plan as estimates."""
    return [
        Estimate(
            line.cost.stage,
            int(line.cost.memory),
            int(line.cost.disk),
            line.cost.seconds,
            line.times,
            line.method,
        )
        for line in lines
    ]


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


def _count(names: list[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
