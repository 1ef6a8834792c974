"""A plan in words: rounded times and sizes, one line per finding. Pure functions."""

from __future__ import annotations

from taamctl.core.units import format_bytes, format_seconds
from taamctl.planning.finding import STOP
from taamctl.planning.plan import GraphPlan, Plan

COLUMNS = ("stage", "method", "runs", "time each", "memory", "disk each")
ROUGH = (
    "no formula for all they do; what comes on top of the shared training (condensing, replay, "
    "pre-training, propagating queries) is not in the price"
)


def head(plan: Plan) -> list[str]:
    """Return what the machine is like."""
    there, r = plan["machine"], plan["rates"]
    limit = f"; --max-memory {format_bytes(there.limit)}" if there.limit else ""
    return [
        f"machine      {there.cpus} CPUs, {format_bytes(there.free)} of "
        f"{format_bytes(there.memory)} of memory free, {format_bytes(there.disk)} of disk "
        f"free{limit}",
        f"rates        {r.source}: products {r.dense / 1e9:,.0f} GFLOP/s ({r.device}, "
        f"{r.threads} threads; bfloat16 {r.dense_bf16 / 1e9:,.0f}; sparse {r.sparse / 1e9:,.1f}), "
        f"propagation {r.far / 1e9:.2f} to {r.near / 1e9:.2f} G edges x columns/s, "
        f"memory {r.copy / 1e9:,.0f} GB/s, disk {r.disk / 1e9:.1f} GB/s",
        "",
    ]


def about(graph: GraphPlan) -> list[str]:
    """Return what a graph's prices rest on."""
    c, (low, high) = graph["counts"], graph["kept_range"]
    kept = f"{c.kept:,}" if low == high else f"about {c.kept:,} ({low:,} to {high:,})"
    return [
        f"{graph['dataset']}: {c.nodes:,} nodes, {c.used:,} edges used, {kept} kept inside a "
        f"task and part; {c.features:,} features, {c.classes:,} classes in {c.tasks:,} "
        f"tasks ({graph['from']})",
        *(f"  assumed: {note}" for note in graph["assumptions"]),
    ]


def rows(graph: GraphPlan) -> list[tuple[str, ...]]:
    """Return the table's rows, the total last."""
    out = [
        (
            t.cost.stage,
            f"{t.method} (roughly)" if t.cost.rough else t.method,
            str(t.times) if t.times > 1 else "",
            format_seconds(t.cost.seconds),
            format_bytes(t.cost.memory),
            format_bytes(t.cost.disk),
        )
        for t in graph["stages"]
    ]
    total = graph["total"]
    low, high = format_seconds(total["seconds_low"]), format_seconds(total["seconds_high"])
    seconds = f"{low} to {high.removeprefix('about ')}"
    if low == high:
        seconds = format_seconds(total["seconds"])
    sizes = (format_bytes(total["memory"]), format_bytes(total["disk"]))
    return [*out, ("total", "", "", seconds, *sizes)]


def verdict(graph: GraphPlan) -> list[str]:
    """Return the findings, and whether it fits."""
    out = [str(finding) for finding in graph["findings"]]
    if rough := sorted({t.method for t in graph["stages"] if t.cost.rough}):
        out.append(f"note: {', '.join(rough)}: {ROUGH}")
    stopped = any(finding.level == STOP for finding in graph["findings"])
    return [*out, f"{graph['dataset']} {'does not fit' if stopped else 'fits'}", ""]


def foot(plan: Plan) -> list[str]:
    """Return the sum over all graphs, and what processes at once would make of it."""
    total, workers = plan["total"], plan["workers"]
    margin = plan["margin"]
    basis = "times of methods: from counts and rates; --calibrate measures them"
    if margin is not None:
        basis = (
            "times of methods: measured on rows of these shapes, as busy as this machine is now; "
            f"mostly within a factor of {margin}"
        )
    out = [
        basis,
        f"all of it: {format_seconds(total['seconds'])}, {format_bytes(total['disk'])} on disk",
    ]
    if workers is not None:
        seconds = format_seconds(workers["seconds"])
        out.append(f"with {workers['count']} workers, each with these rates: {seconds}")
    return out
