"""A plan before the work: what every stage takes in time, memory and disk, whether that fits,
and what to change where it does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from taamctl.core import registry
from taamctl.core.plain_values import canonical
from taamctl.core.types import StreamInfo
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.run_params import RunParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import RidgeParams, TrainParams
from taamctl.planning import costs, counts, fit
from taamctl.planning.costs import Cost, Counts, Rates, Workload
from taamctl.planning.finding import NOTE, STOP, Finding
from taamctl.runtime.job import Context
from taamctl.store import atomic_files

SMALL = StreamInfo(
    8, ((0, 2), (2, 4))
)  # what a method is made for, to ask it how its tasks depend on each other


@dataclass(frozen=True)
class Ask:
    """What a plan is asked for.

    Attributes:
        graphs: to plan for. limit: bytes of `--max-memory`, 0 without. workers: processes at work
            at once, 0 for one after the other.
    """

    graphs: tuple[counts.Graph, ...]
    limit: int = 0
    workers: int = 0


@dataclass(frozen=True)
class Line:
    """A stage of the plan: its cost with the middle, least and most edges, the method it is for,
    and how often it runs.

    Attributes:
        parts: independent pieces of equal work that processes can share; 1 where there are none.
    """

    cost: Cost
    low: Cost
    high: Cost
    method: str = ""
    times: int = 1
    parts: int = 1


def device_of(context: Context) -> str:
    """Return `cuda` where training would use a GPU of this machine, else `cpu`."""
    if context.params.section(TrainParams).device == "cpu":
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def workload(context: Context, limit: int = 0) -> Workload:
    """Return the parameters that cost depends on."""
    pre = context.params.section(PrecomputeParams)
    train = context.params.section(TrainParams)
    run = context.params.section(RunParams)
    return Workload(
        pre.hops,
        pre.max_hop,
        pre.store_x,
        pre.store_edges,
        train.epochs,
        train.threads,
        len(run.methods) * len(run.seeds),
        train.node_batch,
        limit,
    )


def make(context: Context, ask: Ask, rates: Rates) -> dict[str, Any]:
    """Return a plan, JSON-ready.

    Keys: machine (memory, free, disk, limit in bytes; cpus; writable), rates, graphs (each:
    dataset, counts, from, assumptions, stages, total, findings), total (seconds, disk), workers,
    ok. Seconds are wall time; memory is a process's peak.

    Raises:
        TaamctlError: a split artefact is damaged; too few classes for a task.
    """
    there = fit.machine(context.layout.root)
    machine = {**there, "cpus": os.cpu_count() or 1, "limit": ask.limit or None}
    work = workload(context, ask.limit)
    graphs = [_graph(context, graph, work, rates, machine) for graph in ask.graphs]
    disk, seconds = (sum(g["total"][key] for g in graphs) for key in ("disk", "seconds"))
    if len(graphs) > 1 and disk > there["disk"]:
        short = Finding(
            STOP,
            f"all together need {fit.size(disk)} of disk, {fit.size(there['disk'])} are free",
            "plan for fewer data sets at once, or name another --outputs",
        )
        graphs[-1]["findings"].append(asdict(short))
    plan = {
        "machine": machine,
        "rates": asdict(rates),
        "graphs": graphs,
        "total": {"seconds": costs.START + seconds, "disk": disk},
        "workers": None,
    }
    if ask.workers:
        plan["workers"] = {
            "count": ask.workers,
            "seconds": costs.START + sum(_shared(g["stages"], ask.workers) for g in graphs),
        }
    return {**plan, "ok": not any(f["level"] == STOP for g in graphs for f in g["findings"])}


def _graph(
    context: Context, graph: counts.Graph, work: Workload, rates: Rates, machine: dict[str, Any]
) -> dict[str, Any]:
    params = context.params.section(SplitParams)
    own = context.params.tree["datasets"].get(graph.name)
    recorded = atomic_files.strict({"dataset": canonical(own or None), "split": canonical(params)})
    file = counts.split_file(context, graph, recorded)
    if file is not None:
        middle = low = high = counts.exact(graph, file, work.hops)
        notes: tuple[str, ...] = ()
    else:
        low, middle, high = (
            counts.estimated(graph, params, work.hops, share) for share in graph.share
        )
        notes = (
            *graph.notes,
            f"{graph.share[1]:.0%} of the edges are taken to join nodes of one task, "
            f"{graph.share[0]:.0%} to {graph.share[2]:.0%} give the range ({counts.MEASURED})",
        )
    table = lines(context, (low, middle, high), work, rates)
    total = {
        "seconds": sum(t.cost.seconds * t.times for t in table),
        "seconds_low": sum(t.low.seconds * t.times for t in table),
        "seconds_high": sum(t.high.seconds * t.times for t in table),
        "memory": max(t.cost.memory for t in table),
        "disk": sum(t.cost.disk * t.times for t in table),
    }
    findings = fit.findings(
        table,
        total["disk"],
        machine,
        lambda changed: lines(context, (low, middle, high), changed, rates),
        work,
    )
    findings += _unasked(context, middle, work)
    return {
        "dataset": graph.name,
        "counts": asdict(middle),
        "kept_range": [low.kept, high.kept],
        "from": f"exact, from {file}" if file is not None else "estimated",
        "assumptions": list(notes),
        "stages": [_row(t) for t in table],
        "total": total,
        "findings": [asdict(f) for f in findings],
    }


def lines(
    context: Context, three: tuple[Counts, Counts, Counts], work: Workload, rates: Rates
) -> list[Line]:
    """Return every stage in the order in which they run.

    Args:
        three: counts with the fewest, middle and most edges.
    """
    import torch

    run = context.params.section(RunParams)
    seeds = len(run.seeds)

    def line(price: Callable[[Counts], Cost], **more: Any) -> Line:
        low, middle, high = (price(c) for c in three)
        return Line(middle, low, high, **more)

    out = [line(lambda c: costs.split(c, rates)), line(lambda c: costs.precompute(c, work, rates))]
    for method in run.methods:
        module = registry.load("taamctl.methods", method)
        own = context.params.plugin("methods", method, module.Params)
        small = module.Method(
            own, SMALL, context.params.section(TrainParams), 0, torch.device("cpu")
        )
        parts = three[1].tasks if small.independent and small.facts.sees == "current" else 1
        out.append(
            line(
                partial(training, module.Method.facts.family, own, w=work, r=rates),
                method=method,
                times=seeds,
                parts=parts,
            )
        )
        out.append(line(partial(answering, small, r=rates), method=method, times=seeds))
        out.append(line(lambda c: costs.evaluate(c, rates), method=method, times=seeds))
    return [*out, line(lambda c: costs.report(c, rates))]


def training(family: str, own: Any, c: Counts, w: Workload, r: Rates) -> Cost:
    """Price training by the method's family; families without a formula are priced as a
    trainable net, and marked rough.
    """
    if getattr(own, "precision", "") == "bfloat16":
        r = replace(r, dense=r.dense_bf16)
    if family == "modulation":
        return costs.train_modulated(c, w, r)
    if family in ("lower reference", "upper reference"):
        return costs.train_net(c, w, r, getattr(own, "stages", ""))
    if family == "probe":
        return costs.train_probe(c, w, r)
    if family == "closed form" and isinstance(own, RidgeParams):
        return costs.train_ridge(
            c, w, r, own.profile_width(c.features), 1 + len(own.hops) * own.views
        )
    rough = costs.train_modulated if family == "ablation" else costs.train_net
    return replace(rough(c, w, r), rough=True)


def answering(method: Any, c: Counts, r: Rates) -> Cost:
    """Price `infer` by what an answer takes; a method that propagates its queries (it needs
    their edges) is marked rough.
    """
    facts, own = method.facts, method.params
    if facts.family in ("modulation", "ablation"):
        answer = costs.modulated_answer(c)
    elif facts.family == "probe":
        answer = 2.0 * c.features * c.classes
    elif facts.family == "closed form" and isinstance(own, RidgeParams):
        answer = 2.0 * own.profile_width(c.features) * (c.features + c.classes)
    else:
        answer = costs.net_answer(c)
    return replace(
        costs.infer(c, r, answer, once=method.cumulative), rough="edges" in facts.query_needs
    )


def _unasked(context: Context, c: Counts, work: Workload) -> list[Finding]:
    """Return what is stored for methods that the plan does not have."""
    facts = [
        registry.load("taamctl.methods", m).Method.facts
        for m in context.params.section(RunParams).methods
    ]
    needed = {need for f in facts for need in (*f.needs, *f.query_needs)}
    out = []
    for name, key, on, stored in (
        ("raw features", "x", work.store_x, costs.stored_x(c)),
        ("edges", "edges", work.store_edges, costs.stored_edges(c)),
    ):
        if on and key not in needed and stored > 0.01 * (1 << 30):
            out.append(
                Finding(
                    NOTE,
                    f"no method here reads {name}: {fit.size(stored)} of features.h5",
                    f"leave them out: --set precompute.store_{key}=false",
                    (f"precompute.store_{key}=false",),
                )
            )
    return out


def _row(line: Line) -> dict[str, Any]:
    cost = line.cost
    return {
        "stage": cost.stage,
        "method": line.method or None,
        "times": line.times,
        "seconds": cost.seconds,
        "seconds_low": line.low.seconds,
        "seconds_high": line.high.seconds,
        "memory": int(cost.memory),
        "memory_high": int(line.high.memory),
        "disk": int(cost.disk),
        "disk_high": int(line.high.disk),
        "parts": line.parts,
        "rough": cost.rough,
    }


def _shared(stages: Sequence[dict[str, Any]], workers: int) -> float:
    """Return the seconds with so many processes at work: training shares tasks, seeds and
    methods, infer and eval seeds and methods.
    """
    out = 0.0
    for name in costs.STAGES:
        mine = [s for s in stages if s["stage"] == name]
        whole = sum(s["seconds"] * s["times"] for s in mine)
        longest = max(
            (s["seconds"] / s["parts"] * (costs.SKEW if s["parts"] > 1 else 1) for s in mine),
            default=0.0,
        )
        shared = name in costs.SHARED
        out += max(whole / workers, min(longest, whole)) if shared else whole
    return out
