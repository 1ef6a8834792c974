"""What a split would make of a graph, what that costs, and what to change: all of it before
anything is computed. Pure functions.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from taamctl.core.types import PARTS, Array, NodeGraph
from taamctl.evaluation import routing
from taamctl.params.split_params import SplitParams
from taamctl.planning import costs
from taamctl.planning.costs import MIB, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding
from taamctl.stream.task_split import Split

SHOWN = 8  # names in one finding


def split_facts(split: Split, codes: Array) -> dict[str, Any]:
    """Return the stream that a split makes, and what the parts lose by being apart.

    Args:
        codes: equal for nodes with equal features.
    """
    names, table = split.stream.class_names, split.table
    tasks = [
        {
            "task": t.index,
            "classes": list(names[t.low : t.high]),
            **{part: int(table[3 * t.index + p, 0]) for p, part in enumerate(PARTS)},
        }
        for t in split.stream.tasks
    ]
    kept, used = int(table[:, 1].sum()), split.edges_before[1]
    parts = {
        part: {
            "nodes": int(table[p::3, 0].sum()),
            "edges": int(table[p::3, 1].sum()),
            "isolated": int(table[p::3, 3].sum()),
        }
        for p, part in enumerate(PARTS)
    }
    in_part = np.repeat(np.arange(len(split.offset) - 1) % 3, np.diff(split.offset))
    ours = codes[split.orig_id]
    twins = int(np.isin(ours[in_part == 2], ours[in_part == 0]).sum())
    tested = split.counts[:, PARTS.index("test")] > 0
    alone = [str(t.index) for t in split.stream.tasks if tested[t.low : t.high].sum() == 1]
    lacking = {
        part: [names[c] for c in np.flatnonzero(split.counts[:, p] == 0)]
        for p, part in enumerate(PARTS)
    }
    return {
        "tasks": tasks,
        "parts": parts,
        "edges_used": used,
        "edges_kept": kept,
        "edges_lost_share": 1 - kept / used if used else 0.0,
        "test_twins": twins,
        "one_class_tasks": alone,
        "dropped": [asdict(d) for d in split.dropped],
        "classes_without": lacking,
        "stated": split.stated,
        "unlabelled": list(split.unlabelled),
    }


def stream_findings(graph: NodeGraph, facts: dict[str, Any], params: SplitParams) -> list[Finding]:
    """Return what there is to say about tasks and parts.

    Args:
        facts: as `split_facts` gives them.
    """
    out = []
    small = [
        f"{d['name']} ({d['nodes']})"
        for d in facts["dropped"]
        if not d["reason"].startswith("leftover")
    ]
    over = [
        f"{d['name']} ({d['nodes']:,})"
        for d in facts["dropped"]
        if d["reason"].startswith("leftover")
    ]
    if small:
        out.append(
            Finding(
                WARN,
                f"{_count(small, 'class', 'classes')} with fewer than {params.min_class_size} "
                f"nodes left out (split.small_class: drop): {_some(small)}",
                "join them to others in the source; or set split.small_class: refuse to be stopped "
                "by such classes",
            )
        )
    if over:
        out.append(
            Finding(
                WARN,
                f"{_count(over, 'class', 'classes')} left over at the end and left out "
                f"(split.odd_class: drop): {_some(over)}",
                "set split.odd_class: merge_into_last",
                ("split.odd_class=merge_into_last",),
            )
        )
    if len(facts["tasks"]) == 1:
        out.append(
            Finding(
                WARN,
                "there is one task only: nothing comes after it, so nothing can be forgotten",
                "bring more classes, or state another stream in the source; tasks of one class "
                "each would make AA nothing but task-ID accuracy",
            )
        )
    if alone := facts["one_class_tasks"]:
        out.append(
            Finding(
                WARN,
                f"{_count(alone, 'test graph holds', 'test graphs hold')} one class only (task "
                f"{_some(alone)}): AA is nothing but task-ID accuracy there",
                "set split.classes_per_task: 2 or more and split.odd_class: merge_into_last, or "
                "join tasks in the source",
            )
        )
    fix = (
        "set split.parts: drawn"
        if facts["stated"].get("parts") == "given"
        else "such a class needs more nodes (3 or more)"
    )
    for part in ("val", "test"):
        if lacking := facts["classes_without"][part]:
            level = WARN if part == "test" else NOTE
            out.append(
                Finding(
                    level,
                    f"{_count(lacking, 'class', 'classes')} without a {part} node, left out of the "
                    f"means over {part}: {_some(lacking)}",
                    fix,
                )
            )
    if facts["stated"].get("left_out"):
        out.append(
            Finding(
                NOTE,
                f"{facts['stated']['left_out']:,} labelled nodes have no part and are left out",
                "set split.parts: drawn"
                if facts["stated"]["parts"] == "given"
                else "give them a time in the source",
            )
        )
    test = facts["parts"]["test"]
    if test["nodes"] and 2 * test["isolated"] > test["nodes"]:
        out.append(
            Finding(
                NOTE,
                f"{100 * test['isolated'] / test['nodes']:.1f} % of the test nodes have no edge "
                "inside their part",
                "a larger split.test keeps more edges; no edge may join two parts or two tasks",
            )
        )
    if test["nodes"] and 100 * facts["test_twins"] > test["nodes"]:
        out.append(
            Finding(
                WARN,
                f"{facts['test_twins']:,} of {test['nodes']:,} test nodes have the features of a "
                "training node, so they measure memory too",
                "drop duplicate nodes in the source",
            )
        )
    if facts["unlabelled"][0]:
        out.append(
            Finding(
                NOTE, f"{facts['unlabelled'][0]:,} nodes have no label: {facts['unlabelled'][1]}"
            )
        )
    if graph.given.time is not None and params.class_order != "time" and params.parts != "time":
        out.append(
            Finding(
                NOTE,
                "the graph states times, and the split does not use them",
                "set split.class_order: time (classes as they appear) or split.parts: time (train "
                "on the oldest nodes)",
            )
        )
    return out


def routing_findings(routed: dict[str, Any]) -> list[Finding]:
    """Return why task-ID inference would fail, as validation tells it, and what to set where
    another profile and metric do better.

    Args:
        routed: as `routing.on_validation` gives it.
    """
    out = []
    for line in routing.doubts(
        routed["accuracy"], routed["nearness"], routed["grid"], routed["by"]
    ):
        right = routing.better(routed["grid"], routed["by"]) if routed["accuracy"] < 1 else []
        mend = (
            "set " + " and ".join(c.replace("=", ": ") for c in routing.settings(right[0]))
            if right
            else "route per node (taamctl eval --lens), or use a method that needs no task ID, "
            "such as analytic"
        )
        out.append(Finding(WARN, line, mend, routing.settings(right[0]) if right else ()))
    return out


def graph_findings(facts: dict[str, Any], params: SplitParams, directed: bool) -> list[Finding]:
    """Return what there is to say about edges and features.

    Args:
        facts: as `census` gives them. directed: the edges are used as directed where `symmetrize`
            is `as_released`.
    """
    out = []
    edges, x = facts["edges"], facts["features"]
    joined = params.symmetrize == "always" or (params.symmetrize == "as_released" and not directed)
    if joined and edges["one_way_share"] > 0.01:
        out.append(
            Finding(
                NOTE,
                f"{100 * edges['one_way_share']:.1f} % of the edges have no reverse; all are used "
                f"both ways: {edges['stored']:,} become {edges['symmetrised']:,}",
                "set split.symmetrize: never to keep their direction",
            )
        )
    if not edges["stored"]:
        out.append(
            Finding(
                WARN,
                "there is no edge: every node has its own features only",
                "check the edge list",
            )
        )
    if x["empty_rows"]:
        out.append(Finding(NOTE, f"{x['empty_rows']:,} nodes have no feature other than 0"))
    if x["empty_columns"]:
        out.append(
            Finding(
                NOTE,
                f"{x['empty_columns']:,} of {x['count']:,} features are 0 for every node",
                "drop them in the source",
            )
        )
    if max(abs(x["low"]), abs(x["high"])) > 100:
        row = " or set precompute.feature_norm: row" if x["low"] >= 0 and x["count"] > 1 else ""
        out.append(
            Finding(
                WARN,
                f"features run from {x['low']:.4g} to {x['high']:.4g}: training steps are made for "
                "values near 1",
                f"scale them in the source{row}",
            )
        )
    if x["duplicates_of_two_classes"]:
        out.append(
            Finding(
                NOTE,
                f"{x['duplicates_of_two_classes']:,} nodes have the features of a node of another "
                "class",
            )
        )
    adjusted = facts["homophily"]["adjusted"]
    if adjusted is not None and adjusted < 0.1:
        out.append(
            Finding(
                NOTE,
                f"neighbours say little about a node's class (adjusted homophily {adjusted:.2f})",
                "compare with precompute.hops: 0, which uses no edges",
            )
        )
    return out


def estimate(
    facts: dict[str, Any], features: dict[str, Any], nodes: int, work: Workload, rates: costs.Rates
) -> list[dict[str, Any]]:
    """Return memory and disk in bytes and time in seconds of every stage, from counts alone; train,
    infer: one run of a modulator.

    Args:
        facts: as `split_facts` gives them. features: the features' part of `census`. nodes: of the
            whole graph.
    """
    parts, kept, tasks = facts["parts"], facts["edges_kept"], facts["tasks"]
    rows = {part: parts[part]["nodes"] for part in PARTS}
    filled = float(features["density"]) if features["kind"] == "sparse" else 1.0
    counts = costs.Counts(
        nodes=nodes,
        used=facts["edges_used"],
        kept=kept,
        mixed=parts["val"]["edges"] + parts["test"]["edges"],
        features=features["count"],
        filled=filled,
        filled_h=costs.reach(filled, kept / max(1, sum(rows.values())), work.hops),
        classes=sum(len(t["classes"]) for t in tasks),
        tasks=len(tasks),
        train=rows["train"],
        val=rows["val"],
        test=rows["test"],
        largest=max(t["train"] for t in tasks),
    )
    made = (
        costs.split(counts, rates),
        costs.precompute(counts, work, rates),
        costs.train_modulated(counts, work, rates),
        costs.infer(counts, rates, costs.modulated_answer(counts), once=True),
    )
    return [
        {
            "stage": c.stage,
            "memory": int(c.memory),
            "disk": int(c.disk),
            "seconds": float(c.seconds),
            "times": work.runs if c.stage in ("train", "infer") else 1,
        }
        for c in made
    ]


def room_findings(costs: list[dict[str, Any]], memory: int, disk: int) -> list[Finding]:
    """Return whether the machine has room for every stage.

    Args:
        costs: as `estimate` gives them. memory, disk: bytes there are.
    """
    out = []
    need, total = (
        max(costs, key=lambda c: int(c["memory"])),
        sum(c["disk"] * c["times"] for c in costs),
    )
    if need["memory"] > memory:
        out.append(
            Finding(
                STOP,
                f"{need['stage']} needs about {need['memory'] / MIB:,.0f} MiB of memory, there are "
                f"{memory / MIB:,.0f}",
                "take a machine with more memory, or fewer nodes or features",
            )
        )
    if total > disk:
        out.append(
            Finding(
                STOP,
                f"the artefacts need about {total / MIB:,.0f} MiB, {disk / MIB:,.0f} are free",
                "free some, or set precompute.store_x: false and precompute.store_edges: false "
                "(fewer methods run then)",
            )
        )
    return out


def _count(names: list[str], one: str, many: str) -> str:
    return f"{len(names)} {one if len(names) == 1 else many}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:SHOWN]) + (
        f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    )
