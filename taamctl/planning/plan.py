"""A plan before the work: what every stage takes in time, memory and disk, whether that fits,
and what to change where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical
from taamctl.core.types import StreamInfo
from taamctl.core.units import format_bytes
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import declaring, method_class
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.run_params import RunParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, LensParams, RidgeParams, TrainParams
from taamctl.planning import costs, counts, fit, routing_look
from taamctl.planning.costs import Cost, Counts, Rates, Workload
from taamctl.planning.families import answering, training
from taamctl.planning.finding import NOTE, STOP, Finding
from taamctl.planning.fit import Line, Machine
from taamctl.planning.rehearsal import MARGIN, Rehearsal, Rehearsed
from taamctl.planning.routing_rehearsal import RoutingRehearsal
from taamctl.runtime.job import Context
from taamctl.store import atomic_files

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SMALL = StreamInfo(8, ((0, 2), (2, 4)))  # of the methods that tell how their tasks hang together
WORTH_A_NOTE = 0.01 * (1 << 30)  # bytes of features.h5 that no method reads

Pricing = Callable[[Counts], Cost]
Measured = dict[str, Rehearsed | str]  # by method; in words why it was not measured
Range = tuple[Counts, Counts, Counts]  # with the fewest, middle and most edges


GraphPlan = TypedDict(
    "GraphPlan",
    {
        "dataset": str,
        "counts": Counts,
        "kept_range": list[int],
        "from": str,
        "assumptions": list[str],
        "stages": list[Line],
        "total": dict[str, float],
        "findings": list[Finding],
    },
)


class Plan(TypedDict):
    """A plan; seconds are wall time, memory is a process's peak.

    Keys: margin (the factor that the times of methods keep to; None where they were not measured);
    total (seconds, disk); workers (count, seconds); ok (nothing stops a run).
    """

    machine: Machine
    rates: Rates
    margin: int | None
    graphs: list[GraphPlan]
    total: dict[str, float]
    workers: dict[str, float] | None
    ok: bool


def as_json(value: Line | DataclassInstance) -> dict[str, object]:
    """Return a part of a plan that is no plain value, for `json.dumps`."""
    return value.row() if isinstance(value, Line) else asdict(value)


def device_of(context: Context) -> str:
    """Return `cuda` where training would use a GPU of this machine, else `cpu`."""
    if context.params.section(TrainParams).device == "cpu":
        return "cpu"
    return devices.kind("auto")


def workload(context: Context) -> Workload:
    """Return the parameters that cost depends on."""
    pre = context.params.section(PrecomputeParams)
    train = context.params.section(TrainParams)
    run = context.params.section(RunParams)
    return Workload(
        hops=pre.hops,
        max_hop=pre.max_hop,
        store_x=pre.store_x,
        store_edges=pre.store_edges,
        epochs=train.epochs,
        threads=train.threads,
        runs=len(run.methods) * len(run.seeds),
        node_batch=train.node_batch,
        limit=context.max_memory or 0,
        routers=_routers(context),
    )


def _routers(context: Context) -> RidgeParams | None:
    """Return what the routers that learn from sums are made with; None where none is looked at."""
    if context.params.section(InferParams).router == "prototype":
        return None
    return context.params.section(LensParams).router


def make(
    context: Context,
    graphs: Sequence[counts.Graph],
    rates: Rates,
    workers: int = 0,
    *,
    rehearsed: bool = False,
) -> Plan:
    """Return a plan.

    Args:
        workers: processes at work at once; 0 for one after the other.
        rehearsed: training and infer are measured, of every method, for some seconds.

    Raises:
        TaamctlError: a split artefact is damaged; too few classes for a task.
    """
    machine = fit.machine(context.layout.root, context.max_memory)
    plans = [_graph(context, graph, rates, machine, rehearsed) for graph in graphs]
    total = {key: sum(plan["total"][key] for plan in plans) for key in ("seconds", "disk")}
    total["seconds"] += costs.START
    disk = total["disk"]
    if len(plans) > 1 and disk > machine.disk:
        what = (
            f"all together need {format_bytes(disk)} of disk, {format_bytes(machine.disk)} are free"
        )
        mend = "plan for fewer data sets at once, or name another --outputs"
        plans[-1]["findings"].append(Finding(STOP, what, mend))
    shared = None
    if workers:
        seconds = sum(shared_seconds(plan["stages"], workers) for plan in plans)
        shared = {"count": workers, "seconds": costs.START + seconds}
    return Plan(
        machine=machine,
        rates=rates,
        margin=MARGIN if rehearsed else None,
        graphs=plans,
        total=total,
        workers=shared,
        ok=not any(f.level == STOP for plan in plans for f in plan["findings"]),
    )


LENS_RULE = (
    "the look at the mixed graph of all tasks (lens), which a run takes at a graph of your own "
    "and at debian, is not in the price; it reads the raw features and the edges that are stored"
)


def counted(context: Context, graph: counts.Graph, hops: int) -> tuple[Range, Path | None]:
    """Return the counts of a graph, and the split that they are from where one is there."""
    params = context.params.section(SplitParams)
    own = context.params.tree["datasets"].get(graph.name)
    recorded = atomic_files.strict({"dataset": canonical(own or None), "split": canonical(params)})
    file = counts.split_file(context, graph, recorded)
    if file is not None:
        return (counts.exact(graph, file, hops),) * 3, file
    low, middle, high = (counts.estimated(graph, params, hops, s) for s in graph.share)
    return (low, middle, high), None


def _graph(
    context: Context, graph: counts.Graph, rates: Rates, machine: Machine, rehearsed: bool
) -> GraphPlan:
    work = workload(context)
    (low, middle, high), file = counted(context, graph, work.hops)
    origin = f"exact, from {file}"
    notes: tuple[str, ...] = ()
    if file is None:
        origin, notes = "estimated", graph.notes
        fewest, usual, most = (f"{share:.0%}" for share in graph.share)
        share = (
            f"{usual} of the edges are taken to join nodes of one task, {fewest} to {most} give "
            f"the range ({counts.MEASURED})"
        )
        notes = (*notes, share)
    notes = (*notes, *_unpriced(graph.name, work))
    measured: Measured = {}
    if rehearsed:
        there = graph.name if graph.brought else None
        measured = rehearse(context, middle, device_of(context), there)
        notes = (*notes, *_said_of(measured))
    again = partial(lines, context, (low, middle, high), rates, measured=measured)
    table = again(work)
    total = {
        "seconds": sum(t.cost.seconds * t.times for t in table),
        "seconds_low": sum(t.low.seconds * t.times for t in table),
        "seconds_high": sum(t.high.seconds * t.times for t in table),
        "memory": max(t.cost.memory for t in table),
        "disk": sum(t.cost.disk * t.times for t in table),
    }
    found = fit.findings(table, total["disk"], machine, again, work)
    return {
        "dataset": graph.name,
        "counts": middle,
        "kept_range": [low.kept, high.kept],
        "from": origin,
        "assumptions": list(notes),
        "stages": table,
        "total": total,
        "findings": [*found, *_unread(context, graph.name, middle, work)],
    }


def rehearse(context: Context, c: Counts, device: str, dataset: str | None = None) -> Measured:
    """Return method -> what it was measured to take on rows of these shapes, or why it was not.

    Args:
        dataset: whose features, where they are there, tell at which stages of `infer.router: auto`
            regressions are looked at.
    """
    hops = context.params.section(PrecomputeParams).hops
    train = context.params.section(TrainParams)
    found: Measured = {}
    routings: dict[object, RoutingRehearsal] = {}
    for name in context.params.section(RunParams).methods:
        own = context.params.plugin("methods", name, registry.method_params(name))
        method = method_class(name)
        facts = method.facts
        alike = (facts.routing, facts.task_id == "inferred")
        if alike not in routings:
            routings[alike] = routing_look.of_method(context, facts, c, dataset)
        try:
            found[name] = Rehearsal(method, own, train, c, hops, device, routings[alike]).run()
        except (TaamctlError, ArithmeticError, LookupError, RuntimeError, ValueError) as error:
            found[name] = f"could not be rehearsed, its times are from counts ({error})"[:200]
    return found


def _said_of(measured: Measured) -> list[str]:
    """Return which methods were not measured and why, and what the others' prices rest on."""
    missing = [f"{name}: {why}" for name, why in measured.items() if isinstance(why, str)]
    made = [seen.note for seen in measured.values() if isinstance(seen, Rehearsed)]
    return [*missing, *dict.fromkeys(note for note in made if note)]


def lines(
    context: Context,
    three: Range,
    rates: Rates,
    work: Workload,
    measured: Mapping[str, Rehearsed | str] = MappingProxyType({}),
) -> list[Line]:
    """Return every stage in the order in which they run.

    Args:
        measured: method -> what it takes at the middle counts: other counts and parameters are in
            proportion to the formulas.
    """
    run = context.params.section(RunParams)
    low, middle, high = three

    def line(price: Pricing, method: str = "", times: int = 1, parts: int = 1) -> Line:
        return Line(price(middle), price(low), price(high), method, times, parts)

    out = [line(lambda c: costs.split(c, rates)), line(lambda c: costs.precompute(c, work, rates))]
    for name in run.methods:
        method = declared(context, name)
        own = method.params
        alone = method.independent and method.facts.sees == "current"
        price: Pricing = partial(training, method.facts.family, own, w=work, r=rates)
        of = partial(line, method=name, times=len(run.seeds))
        answer: Pricing = partial(answering, method, w=work, r=rates)
        seen = measured.get(name)
        if isinstance(seen, Rehearsed):
            usual = partial(training, method.facts.family, own, w=workload(context), r=rates)
            price = _scaled(price, seen.train.wall / usual(middle).seconds)
            answer = _scaled(answer, seen.infer.wall / answer(middle).seconds)
        out.append(of(price, parts=middle.tasks if alone else 1))
        out.append(of(answer))
        out.append(of(costs.evaluate))
    return [*out, line(lambda c: costs.report())]


def declared(context: Context, name: str) -> Method:
    """Return a method that tells how its tasks hang together."""
    own = context.params.plugin("methods", name, registry.method_params(name))
    return declaring(name, own, SMALL, context.params.section(TrainParams))


def _scaled(price: Pricing, by: float) -> Pricing:
    """Return a price whose seconds are so many times as many, and no guess any more."""

    def scaled(c: Counts) -> Cost:
        cost = price(c)
        return replace(cost, seconds=by * cost.seconds, rough=False)

    return scaled


def _unpriced(dataset: str, work: Workload) -> tuple[str, ...]:
    """Return what a run does beside the stages of the table."""
    looks = _is_own(dataset) and work.store_x and work.store_edges
    return (LENS_RULE,) * looks


def _is_own(dataset: str) -> bool:
    return dataset in registry.imported("taamctl.datasets")


def _unread(context: Context, dataset: str, c: Counts, work: Workload) -> list[Finding]:
    """Return what is stored for methods that the plan does not have; the lens of a graph of one's
    own reads all.
    """
    if _is_own(dataset):
        return []
    methods = context.params.section(RunParams).methods
    facts = [method_class(name).facts for name in methods]
    needed = {need for f in facts for need in (*f.needs, *f.query_needs)}
    out = []
    for what, key, stored in (
        ("raw features", "x", work.store_x * costs.stored_x(c)),
        ("edges", "edges", work.store_edges * costs.stored_edges(c)),
    ):
        if key not in needed and stored > WORTH_A_NOTE:
            change = f"precompute.store_{key}=false"
            size = format_bytes(stored)
            found = f"no method here reads {what}: {size} of features.h5"
            out.append(Finding(NOTE, found, f"leave them out: --set {change}", (change,)))
    return out


def shared_seconds(table: Sequence[Line], workers: int) -> float:
    """Return the seconds with so many processes at work: training shares tasks, seeds and
    methods, infer and eval seeds and methods.
    """
    total = 0.0
    for name in costs.STAGES:
        mine = [t for t in table if t.cost.stage == name]
        whole = sum(t.cost.seconds * t.times for t in mine)
        if name in costs.SHARED:
            longest = max((t.longest for t in mine), default=0.0)
            whole = max(whole / workers, min(longest, whole))
        total += whole
    return total
