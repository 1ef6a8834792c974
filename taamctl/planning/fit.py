"""Does a plan fit the machine, and what to change where it does not.

Pure functions, but for the look at the machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from taamctl.planning.costs import MIB, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding

BATCHES = tuple(1 << k for k in range(18, 11, -1))  # rows per training step to suggest


def machine(folder: Path) -> dict[str, int]:
    """Return the machine's `memory`, the memory `free` now, and the free `disk` where `folder`
    lies, in bytes.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "memory": total,
        "free": min(total, _available() or total, _group_limit() or total),
        "disk": disk(folder),
        "writable": writable(folder),
    }


def disk(folder: Path) -> int:
    """Return the free bytes of the file system that a folder, there or not, lies on."""
    folder = folder.absolute()
    return shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.is_dir())).free


def writable(folder: Path) -> bool:
    """Tell whether a folder, there or not, can be written to or made."""
    folder = folder.absolute()
    nearest = next(p for p in (folder, *folder.parents) if p.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)


def _available() -> int:
    """Return what Linux calls available; 0 elsewhere."""
    try:
        found = dict(
            line.split(":", 1)
            for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        )
        return int(found["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return 0


def _group_limit() -> int:
    """Return the memory limit of a container; 0 without one."""
    try:
        return int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or the word max
        return 0


def size(count: float) -> str:
    """Return bytes for people, such as `3.2 GiB`."""
    if 0 < count < MIB:
        return f"{max(1, count / 1024):,.0f} KiB"
    value, unit = count / MIB, "MiB"
    for larger in ("GiB", "TiB", "PiB"):
        if value < 1000:
            break
        value, unit = value / 1024, larger
    return f"{value:,.0f} {unit}" if value >= 10 or unit == "MiB" else f"{value:.1f} {unit}"


def findings(
    table: Sequence[Any],
    total_disk: float,
    there: dict[str, Any],
    again: Callable[[Workload], Sequence[Any]],
    work: Workload,
) -> list[Finding]:
    """Return what does not fit, with the changes that would make it fit, and what fits only with
    luck.

    Args:
        table: the plan's lines. there: as `machine` gives it, and `limit`. again: prices the plan
            under another workload.
    """
    out, bound = [], min(there["free"], there["limit"] or there["free"])
    limited = there["limit"] is not None and there["limit"] <= there["free"]
    where = "--max-memory allows" if limited else "are free"
    for line in {t.cost.stage: t for t in sorted(table, key=lambda t: t.cost.memory)}.values():
        cost = line.cost
        if cost.memory > bound:
            mend, changes = _less_memory(cost.stage, bound, again, work)
            out.append(
                Finding(
                    STOP,
                    f"{cost.stage} needs about {size(cost.memory)} of memory, {size(bound)} "
                    f"{where}",
                    mend,
                    changes,
                )
            )
        elif line.high.memory > bound:
            out.append(
                Finding(
                    WARN,
                    f"{cost.stage} needs up to {size(line.high.memory)} of memory if more edges "
                    f"lie inside tasks, {size(bound)} {where}",
                    "make the split first: its counts are exact",
                )
            )
    if total_disk > there["disk"]:
        mend, changes = _less_disk(there["disk"], again, work)
        out.append(
            Finding(
                STOP,
                f"the artefacts need about {size(total_disk)} of disk, {size(there['disk'])} are "
                "free",
                mend,
                changes,
            )
        )
    if not there["writable"]:
        out.append(
            Finding(
                STOP,
                "the folder of --outputs cannot be written",
                "name another, or change its permissions",
            )
        )
    if there["limit"] is not None and there["limit"] > there["free"]:
        out.append(
            Finding(NOTE, f"--max-memory is more than the {size(there['free'])} that are free")
        )
    return out


def _less_memory(
    stage: str, bound: float, again: Callable[[Workload], Sequence[Any]], work: Workload
) -> tuple[str, tuple[str, ...]]:
    """Return the first change under which a stage fits, in words and as parameters; else what
    machine it needs.
    """

    def need(changed: Workload) -> float:
        return float(max(t.cost.memory for t in again(changed) if t.cost.stage == stage))

    if stage == "precompute" and not work.limit and need(replace(work, limit=int(bound))) <= bound:
        return f"go through the disk: --max-memory {int(bound // MIB)}M", ()
    if stage == "train":
        for batch in BATCHES:
            if (not work.node_batch or batch < work.node_batch) and need(
                replace(work, node_batch=batch)
            ) <= bound:
                return f"train in batches: --set train.node_batch={batch} (accuracy may differ)", (
                    f"train.node_batch={batch}",
                )
    frugal, how = {
        "train": (
            replace(work, node_batch=BATCHES[-1]),
            f" and --set train.node_batch={BATCHES[-1]}",
        ),
        "precompute": (replace(work, limit=int(bound)), " and --max-memory"),
    }.get(stage, (work, ""))
    least = min(need(work), need(frugal))
    with_it = how if least < need(work) else ""
    return (
        f"take a machine with {size(least * 1.2)} of memory or more{with_it}, or fewer nodes or "
        "edges",
        (),
    )


def _less_disk(
    there: float, again: Callable[[Workload], Sequence[Any]], work: Workload
) -> tuple[str, tuple[str, ...]]:
    def need(changed: Workload) -> float:
        return float(sum(t.cost.disk * t.times for t in again(changed)))

    for changed in (
        {"store_x": False},
        {"store_edges": False},
        {"store_x": False, "store_edges": False},
    ):
        if need(replace(work, **changed)) <= there:
            keys = tuple(f"precompute.{key}=false" for key in changed)
            return (
                f"leave out what few methods read: {' '.join(f'--set {key}' for key in keys)}",
                keys,
            )
    return f"a file system with {size(need(work) * 1.1)} free, named by --outputs", ()
