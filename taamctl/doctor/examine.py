"""Look at a data set before any compute: load it, count it, split it in memory, and say what a
run would need and what to change.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from taamctl.core import registry, subnormals
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.doctor import advice, graph_stats, task_ids
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams
from taamctl.planning.calibrate import packaged
from taamctl.planning.costs import MIB
from taamctl.planning.finding import NOTE, STOP, WARN, Finding
from taamctl.planning.fit import machine
from taamctl.planning.plan import workload
from taamctl.runtime.job import Context
from taamctl.store import atomic_files
from taamctl.stream.task_split import Facts, Split, make_split

PACKAGE = "taamctl.datasets"


@subnormals.flushed()  # as split
def examine(context: Context, dataset: str) -> dict[str, Any]:
    """Return everything that `taamctl data doctor` reports of one data set, JSON-ready.

    Keys: dataset, from, nodes, edges, features, labels, homophily, states, notes (what the graph is
    like); stream (what `split` makes of it, null where it refuses); routing (task IDs of its
    validation graphs, null with one task); estimates (per stage, from counts); room; findings
    (level, what, mend, changes); ok.

    Raises:
        TaamctlError: the graph cannot be loaded.
    """
    source = data_set(dataset)
    meta = source.meta
    own = context.params.plugin("datasets", dataset, meta.params)
    graph = source.load(context.data_root, own)
    split_params = context.params.section(SplitParams)
    facts, codes = graph_stats.graph_facts(graph)
    there = machine(context.layout.root)
    room = {"memory": there["memory"], "disk": there["disk"]}
    findings, stream, routed, costs = [], None, None, []
    try:
        made = make_split(graph, Facts(meta.directed, meta.unlabelled_as), split_params)
    except TaamctlError as error:
        findings.append(Finding(STOP, error.message, error.hint))
    else:
        stream = advice.split_facts(made, codes)
        work = workload(context)
        costs = advice.estimate(
            stream, facts["features"], graph.num_nodes, work, packaged(work.threads)
        )
        findings += advice.room_findings(costs, room["memory"], room["disk"])
        findings += advice.stream_findings(graph, stream, split_params)
        if any(f.level == STOP for f in findings):
            findings.append(Finding(NOTE, "task IDs were not looked at, for want of room"))
        elif len(made.stream.tasks) > 1:
            try:
                routed = _routed(context, graph, made, meta.feature_norm)
                findings += advice.routing_findings(routed)
            except TaamctlError as error:  # hops that are not there
                findings.append(Finding(STOP, error.message, error.hint))
    findings += advice.graph_findings(facts, split_params, meta.directed)
    levels = (STOP, WARN, NOTE)
    findings.sort(key=lambda f: levels.index(f.level))
    return {
        "dataset": dataset,
        "from": registry.origin(PACKAGE, dataset),
        **facts,
        "stream": stream,
        "routing": routed,
        "estimates": costs,
        "room": room,
        "findings": [asdict(f) for f in findings],
        "ok": not any(f.level == STOP for f in findings),
    }


def _routed(context: Context, graph: NodeGraph, split: Split, feature_norm: str) -> dict[str, Any]:
    """Return how validation graphs are routed by the parameters at hand."""
    made, infer = context.params.section(PrecomputeParams), context.params.section(InferParams)
    norm = feature_norm if made.feature_norm == "as_released" else made.feature_norm
    found: dict[str, Any] = atomic_files.strict(
        task_ids.on_validation(graph.features, split, made, norm, infer)
    )
    return found


def suggested(report: dict[str, Any]) -> list[str]:
    """Return the parameter changes that a report suggests, as `section.key=value`, each key
    once.
    """
    changes = [change for finding in report["findings"] for change in finding["changes"]]
    return list({change.partition("=")[0]: change for change in changes}.values())


def lines(report: dict[str, Any]) -> list[str]:
    """Return a report as lines for people."""
    edges, x, labels, h = (report[key] for key in ("edges", "features", "labels", "homophily"))
    sizes = sorted(labels["sizes"], key=lambda s: -s[1])
    pairs = [
        ("from", report["from"]),
        ("nodes", f"{report['nodes']:,}; {edges['isolated_nodes']:,} without any edge"),
        (
            "edges",
            f"{edges['stored']:,} stored, {edges['self_loops']:,} of them self-loops; "
            f"{edges['symmetrised']:,} after symmetrising; {100 * edges['one_way_share']:.1f} % "
            f"have no reverse; mean degree {edges['mean_degree']:.1f}",
        ),
        (
            "features",
            f"{x['count']:,}, {x['kind']}, {100 * x['density']:.2f} % filled, from {x['low']:.4g} "
            f"to {x['high']:.4g}; {x['empty_columns']:,} always 0",
        ),
        (
            "duplicates",
            f"{x['duplicate_nodes']:,} nodes share all their features with another, "
            f"{x['duplicates_of_two_classes']:,} of them with one of another class; "
            f"{x['empty_rows']:,} have none but 0",
        ),
        (
            "classes",
            f"{labels['classes']}; largest {_size(sizes[:1])}, smallest {_size(sizes[-1:])}; "
            f"{labels['unlabelled']:,} nodes unlabelled",
        ),
        (
            "homophily",
            "no edge joins two labelled nodes"
            if h["edge"] is None
            else f"{100 * h['edge']:.1f} % of the edges inside a class; "
            f"{'-' if h['adjusted'] is None else format(h['adjusted'], '.2f')} beyond chance "
            "(1: always, 0: as by chance)",
        ),
        ("states", ", ".join(report["states"]) or "nothing but edges, features and labels"),
        *(("note", note) for note in report["notes"]),
    ]
    out = [f"{key:<12} {value}" for key, value in pairs]
    if routed := report["routing"]:
        right = "-" if routed["accuracy"] is None else f"{100 * routed['accuracy']:.0f}"
        out.append(
            f"{'task IDs':<12} {right} % of the validation graphs right by {routed['by']}; all: "
            + ", ".join(
                f"{name} {100 * share:.0f} %"
                for name, share in routed["grid"].items()
                if share is not None
            )
        )
    if report["stream"] is not None:
        out += ["", *_stream_lines(report["stream"]), "", *_cost_lines(report)]
    out.append("")
    for finding in report["findings"]:
        out.append(
            f"{finding['level']}: {finding['what']}"
            + (f"\n    {finding['mend']}" if finding["mend"] else "")
        )
    return [*out, "nothing stops a run" if report["ok"] else "a run would stop"]


def _stream_lines(stream: dict[str, Any]) -> list[str]:
    parts = stream["parts"]
    out = [
        f"{'edges':<12} {stream['edges_kept']:,} of {stream['edges_used']:,} lie inside a part, "
        f"{100 * stream['edges_lost_share']:.1f} % join two parts or tasks and are lost"
    ]
    out += [
        f"{name:<12} {p['nodes']:,} nodes, {p['edges']:,} edges, {p['isolated']:,} nodes isolated"
        for name, p in parts.items()
    ]
    stated = "as the graph states them"
    cut = {"given": stated, "time": "by time"}.get(stream["stated"].get("parts", ""), "drawn")
    out.append(
        f"{'tasks':<12} {len(stream['tasks'])}, "
        f"{stated if 'tasks' in stream['stated'] else 'by size'}; parts {cut}; nodes for train / "
        "val / test"
    )
    for task in stream["tasks"]:
        out.append(
            f"  task {task['task']:<5} {task['train']:,} / {task['val']:,} / {task['test']:,}  "
            f"{', '.join(task['classes'])}"
        )
    return out


def _cost_lines(report: dict[str, Any]) -> list[str]:
    mib = MIB
    out = [
        f"{'estimates':<12} from counts alone, to an order of magnitude; this machine has "
        f"{report['room']['memory'] / mib:,.0f} MiB of memory and "
        f"{report['room']['disk'] / mib:,.0f} MiB of disk free"
    ]
    for cost in report["estimates"]:
        times = f", {cost['times']} times" if cost["times"] > 1 else ""
        out.append(
            f"  {cost['stage']:<10} {cost['memory'] / mib:,.0f} MiB of memory, "
            f"{cost['disk'] / mib:,.0f} MiB on disk, {cost['seconds']:,.1f} s{times}"
        )
    return out


def _size(pairs: list[list[Any]]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in pairs) or "none"
