"""Look at a data set before any compute: load it, count it, split it in memory, and say what a
run would need and what to change.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TypedDict

from taamctl.core import registry, subnormals
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.core.units import MIB
from taamctl.doctor import advice, graph_advice, graph_stats, id_bound, task_ids, tried_advice
from taamctl.doctor.advice import Estimate, StreamFacts
from taamctl.doctor.graph_stats import GraphFacts
from taamctl.doctor.id_bound import IdBound
from taamctl.doctor.task_ids import Routed
from taamctl.doctor.trial import Bench
from taamctl.params.eval_params import EvalParams
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams
from taamctl.planning.calibrate import packaged
from taamctl.planning.finding import NOTE, STOP, WARN, Finding
from taamctl.planning.fit import machine
from taamctl.planning.plan import device_of, rehearse, workload
from taamctl.planning.plan import lines as lines_of
from taamctl.planning.rehearsal import MARGIN
from taamctl.runtime.job import Context
from taamctl.store import atomic_files
from taamctl.stream.task_split import Split, facts_of, make_split

PACKAGE = "taamctl.datasets"
LEVELS = (STOP, WARN, NOTE)  # the gravest first

Origin = TypedDict("Origin", {"dataset": str, "from": str})


class Report(Origin, GraphFacts):
    """All that `taamctl data doctor` reports; JSON-ready with `default=dataclasses.asdict`.

    Stream, routing and bound (on the share of wrong task IDs) are None where a run comes to none;
    `room` are bytes of memory and disk.
    """

    stream: StreamFacts | None
    routing: Routed | None
    bound: IdBound | None
    estimates: list[Estimate]
    room: dict[str, int]
    findings: list[Finding]
    ok: bool


@subnormals.flushed()  # as split
def examine(context: Context, dataset: str, *, quick: bool = False, priced: bool = True) -> Report:
    """Return everything that `taamctl data doctor` reports of one data set.

    Args:
        quick: what may help is named and not tried, and prices are from counts alone.
        priced: methods are measured for their prices.

    Raises:
        TaamctlError: the graph cannot be loaded.
    """
    source = data_set(dataset)
    meta = source.meta
    own = context.params.plugin("datasets", dataset, meta.params)
    graph = source.load(context.data_root, own)
    params = context.params.section(SplitParams)
    facts, alike = graph_stats.graph_facts(graph)
    there = machine(context.layout.root)
    stream: StreamFacts | None = None
    routed: Routed | None = None
    bound: IdBound | None = None
    estimates: list[Estimate] = []
    bench: Bench | None = None
    try:
        split = make_split(graph, facts_of(meta), params)
    except TaamctlError as error:
        findings = [Finding(STOP, error.message, error.hint)]
    else:
        stream = advice.split_facts(split, alike, context.params.section(EvalParams).averaging)
        work = workload(context)
        rates = packaged(work.threads)
        estimates = advice.estimate(stream, facts["features"], graph.num_nodes, work, rates)
        findings = advice.room_findings(estimates, there.memory, there.disk)
        if priced and not quick and not findings:
            estimates = _rehearsed(context, dataset, stream, facts)
        findings += advice.stream_findings(graph, stream, params)
        routed, more = _routing(context, graph, split, meta.feature_norm, findings)
        findings += more
        if routed is not None:
            bound = _bound(context, graph, split, meta.feature_norm)
        bench = Bench(graph, split, context.params, meta.feature_norm, meta.directed)
    findings += graph_advice.graph_findings(facts, params, meta.directed)
    findings += graph_advice.feature_findings(graph, facts)
    if quick or bench is None:
        findings = tried_advice.untried(findings)
    else:
        findings = tried_advice.measured(findings, bench)
    findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return {
        "dataset": dataset,
        "from": registry.origin(PACKAGE, dataset),
        **facts,
        "stream": stream,
        "routing": routed,
        "bound": bound,
        "estimates": estimates,
        "room": {"memory": there.memory, "disk": there.disk},
        "findings": findings,
        "ok": not any(finding.level == STOP for finding in findings),
    }


def _rehearsed(
    context: Context, dataset: str, stream: StreamFacts, facts: GraphFacts
) -> list[Estimate]:
    """Return what every stage takes, training and infer measured on rows of these shapes."""
    work = workload(context)
    counts = advice.counted(stream, facts["features"], facts["nodes"], work.hops)
    measured = rehearse(context, counts, device_of(context), dataset)
    rates = packaged(work.threads)
    return advice.estimate_of(lines_of(context, (counts,) * 3, rates, work, measured))


def _routing(
    context: Context, graph: NodeGraph, split: Split, released: str, before: list[Finding]
) -> tuple[Routed | None, list[Finding]]:
    """Return how validation graphs are routed by the parameters at hand, and what to say of it.

    Args:
        released: the feature normalisation of the data set. before: what was found so far.
    """
    if any(finding.level == STOP for finding in before):
        return None, [Finding(NOTE, "task IDs were not looked at, for want of room")]
    if len(split.stream.tasks) < 2:
        return None, []
    pre, infer = context.params.section(PrecomputeParams), context.params.section(InferParams)
    norm = pre.resolved_norm(released)
    try:
        measured = task_ids.on_validation(graph.features, split, pre, norm, infer)
        routed: Routed = atomic_files.strict(measured)
        return routed, advice.routing_findings(routed)
    except TaamctlError as error:  # hops that are not there
        return None, [Finding(STOP, error.message, error.hint)]


def _bound(context: Context, graph: NodeGraph, split: Split, released: str) -> IdBound | None:
    """Return the bound on the share of wrong task IDs.

    Args:
        released: the feature normalisation of the data set.
    """
    pre, infer = context.params.section(PrecomputeParams), context.params.section(InferParams)
    return id_bound.of_split(graph.features, split, pre, pre.resolved_norm(released), infer)


def suggested(report: Report, chosen: Container[str]) -> list[str]:
    """Return the parameter changes that a report suggests, as `section.key=value`, each key
    once.

    Args:
        chosen: `section.key` of parameters that stay as they are.
    """
    changes = [c for finding in report["findings"] for c in finding.free_changes(chosen)]
    return list({change.partition("=")[0]: change for change in changes}.values())


def lines(report: Report) -> list[str]:
    """Return a report as lines for people."""
    out = [*_graph_lines(report), *_routing_lines(report["routing"])]
    if report["bound"] is not None:
        out.append(_line("", id_bound.line(report["bound"])))
    if report["stream"] is not None:
        room = report["room"]
        out += ["", *_stream_lines(report["stream"]), "", *_cost_lines(report["estimates"], room)]
    out += ["", *(str(finding) for finding in report["findings"])]
    return [*out, "nothing stops a run" if report["ok"] else "a run would stop"]


def _line(key: str, value: str) -> str:
    return f"{key:<12} {value}"


def _graph_lines(report: Report) -> Iterator[str]:
    edges, x, h = report["edges"], report["features"], report["homophily"]
    labels = report["labels"]
    sizes = sorted(labels["sizes"], key=lambda size: -size[1])
    yield _line("from", report["from"])
    yield _line("nodes", f"{report['nodes']:,}; {edges['isolated_nodes']:,} without any edge")
    yield _line(
        "edges",
        f"{edges['stored']:,} stored, {edges['self_loops']:,} of them self-loops; "
        f"{edges['symmetrised']:,} after symmetrising; {100 * edges['one_way_share']:.1f} % "
        f"have no reverse; mean degree {edges['mean_degree']:.1f}",
    )
    yield _line(
        "features",
        f"{x['count']:,}, {x['kind']}, {100 * x['density']:.2f} % filled, from {x['low']:.4g} "
        f"to {x['high']:.4g}; {x['empty_columns']:,} always 0",
    )
    yield _line(
        "duplicates",
        f"{x['duplicate_nodes']:,} nodes share all their features with another, "
        f"{x['duplicates_of_two_classes']:,} of them with one of another class; "
        f"{x['empty_rows']:,} have none but 0",
    )
    yield _line(
        "classes",
        f"{labels['classes']}; largest {_class(sizes[:1])}, smallest {_class(sizes[-1:])}; "
        f"{labels['unlabelled']:,} nodes unlabelled",
    )
    if h["edge"] is None:
        yield _line("homophily", "no edge joins two labelled nodes")
    else:
        adjusted = "-" if h["adjusted"] is None else f"{h['adjusted']:.2f}"
        yield _line(
            "homophily",
            f"{100 * h['edge']:.1f} % of the edges inside a class; {adjusted} beyond chance "
            "(1: always, 0: as by chance)",
        )
    states = ", ".join(report["states"]) or "nothing but edges, features and labels"
    yield _line("states", states)
    for note in report["notes"]:
        yield _line("note", note)


def _routing_lines(routed: Routed | None) -> Iterator[str]:
    if routed is None:
        return
    right = "-" if routed["accuracy"] is None else f"{100 * routed['accuracy']:.0f}"
    known = {name: share for name, share in routed["grid"].items() if share is not None}
    grid = ", ".join(f"{name} {100 * share:.0f} %" for name, share in known.items())
    yield _line(
        "task IDs", f"{right} % of the validation graphs right by {routed['by']}; all: {grid}"
    )
    known = {name: share for name, share in routed["surest"].items() if share is not None}
    halves = ", ".join(f"{name} {100 * share:.0f} %" for name, share in known.items())
    yield _line("", f"of halves of them, in the worst task: {halves}")


def _stream_lines(stream: StreamFacts) -> Iterator[str]:
    yield _line(
        "edges",
        f"{stream.edges_kept:,} of {stream.edges_used:,} lie inside a part, "
        f"{100 * stream.edges_lost_share:.1f} % join two parts or tasks and are lost",
    )
    for name, p in stream.parts.items():
        yield _line(name, f"{p.nodes:,} nodes, {p.edges:,} edges, {p.isolated:,} nodes isolated")
    stated = "as the graph states them"
    by = stated if "tasks" in stream.stated else "by size"
    cut = {"given": stated, "time": "by time"}.get(str(stream.stated.get("parts")), "drawn")
    yield _line("tasks", f"{len(stream.tasks)}, {by}; parts {cut}; nodes for train / val / test")
    for t in stream.tasks:
        nodes = f"{t.train:,} / {t.val:,} / {t.test:,}"
        yield f"  task {t.task + 1:<5} {nodes}  {', '.join(t.classes)}"


def _cost_lines(estimates: Sequence[Estimate], room: dict[str, int]) -> Iterator[str]:
    basis = "from counts alone, to an order of magnitude"
    if any(e.method for e in estimates):
        basis = (
            f"methods measured on rows of these shapes, mostly within a factor of {MARGIN}; the "
            "rest from counts alone"
        )
    yield _line(
        "estimates",
        f"{basis}; this machine has "
        f"{room['memory'] / MIB:,.0f} MiB of memory and {room['disk'] / MIB:,.0f} MiB of disk free",
    )
    for e in estimates:
        times = f", {e.times} times" if e.times > 1 else ""
        yield (
            f"  {e.stage:<10} {e.method:<14} {e.memory / MIB:,.0f} MiB of memory, "
            f"{e.disk / MIB:,.0f} MiB on disk, {e.seconds:,.1f} s{times}"
        )


def _class(sizes: list[tuple[str, int]]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in sizes) or "none"
