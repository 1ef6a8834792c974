"""A plan in words: rounded times and sizes, one line per finding. Pure functions."""

from __future__ import annotations

from typing import Any

from taamctl.planning.fit import size

COLUMNS = ("stage", "method", "runs", "time each", "memory", "disk each")


def duration(seconds: float) -> str:
    """Return a time as people say it: `under 1 s`, `about 40 s`, `about 3 min`, `about 2.5 h`,
    `about 12 days`.
    """
    if seconds < 1:
        return "under 1 s"
    for unit, length in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length or (unit != "days" and seconds >= 1.5 * length):
            value = seconds / length
            return f"about {value:,.0f} {unit}" if value >= 10 else f"about {value:.2g} {unit}"
    return (
        f"about {seconds:.2g} s"
        if seconds < 10
        else f"about {round(seconds, -1) if seconds >= 20 else round(seconds):.0f} s"
    )


def head(plan: dict[str, Any]) -> list[str]:
    """Return what the machine is like."""
    there, r = plan["machine"], plan["rates"]
    limit = f"; --max-memory {size(there['limit'])}" if there["limit"] else ""
    return [
        f"machine      {there['cpus']} CPUs, {size(there['free'])} of {size(there['memory'])} of "
        f"memory free, {size(there['disk'])} of disk free{limit}",
        f"rates        {r['source']}: products {r['dense'] / 1e9:,.0f} GFLOP/s ({r['device']}, "
        f"{r['threads']} threads; bfloat16 {r['dense_bf16'] / 1e9:,.0f}; sparse "
        f"{r['sparse'] / 1e9:,.1f}), propagation {r['far'] / 1e9:.2f} to {r['near'] / 1e9:.2f} G "
        f"edges x columns/s, memory {r['copy'] / 1e9:,.0f} GB/s, disk {r['disk'] / 1e9:.1f} GB/s",
        "",
    ]


def about(graph: dict[str, Any]) -> list[str]:
    """Return what a graph's prices rest on."""
    c, (low, high) = graph["counts"], graph["kept_range"]
    kept = f"{c['kept']:,}" if low == high else f"about {c['kept']:,} ({low:,} to {high:,})"
    return [
        f"{graph['dataset']}: {c['nodes']:,} nodes, {c['used']:,} edges used, {kept} kept inside a "
        f"task and part; {c['features']:,} features, {c['classes']:,} classes in {c['tasks']:,} "
        f"tasks ({graph['from']})",
        *(f"  assumed: {note}" for note in graph["assumptions"]),
    ]


def rows(graph: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the table's rows, the total last."""
    out = [
        (
            s["stage"],
            (s["method"] or "") + (" (roughly)" if s["rough"] else ""),
            str(s["times"]) if s["times"] > 1 else "",
            duration(s["seconds"]),
            size(s["memory"]),
            size(s["disk"]),
        )
        for s in graph["stages"]
    ]
    total = graph["total"]
    return [*out, ("total", "", "", _range(total), size(total["memory"]), size(total["disk"]))]


def _range(total: dict[str, float]) -> str:
    low, high = duration(total["seconds_low"]), duration(total["seconds_high"])
    return duration(total["seconds"]) if low == high else f"{low} to {high.removeprefix('about ')}"


def verdict(graph: dict[str, Any]) -> list[str]:
    """Return the findings, and whether it fits."""
    out = [
        f"{f['level']}: {f['what']}" + (f"\n    {f['mend']}" if f["mend"] else "")
        for f in graph["findings"]
    ]
    if rough := sorted({s["method"] for s in graph["stages"] if s["rough"]}):
        out.append(
            f"note: {', '.join(rough)}: no formula for all they do; what comes on top of the "
            "shared training (condensing, replay, pre-training, propagating queries) is not in "
            "the price"
        )
    fits = not any(f["level"] == "stop" for f in graph["findings"])
    return [*out, f"{graph['dataset']} {'fits' if fits else 'does not fit'}", ""]


def foot(plan: dict[str, Any]) -> list[str]:
    """Return the sum over all graphs, and what processes at once would make of it."""
    out = [
        f"all of it: {duration(plan['total']['seconds'])}, {size(plan['total']['disk'])} on disk"
    ]
    if (workers := plan["workers"]) is not None:
        out.append(
            f"with {workers['count']} workers, each with these rates: "
            f"{duration(workers['seconds'])}"
        )
    return out
