"""Does a plan fit the machine, and what to change where it does not.

Pure functions, but for the look at the machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from taamctl.core.units import MIB, format_bytes
from taamctl.planning.costs import SKEW, Cost, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding

BATCHES = tuple(1 << k for k in range(18, 11, -1))  # rows per training step to suggest
LEAST_BATCH = BATCHES[-1]
CGROUP = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True)
class Machine:
    """What a machine has, in bytes.

    Attributes:
        memory: all of it. free: what a run can have now, a container's limit respected.
        disk: free where the outputs lie. writable: whether they can be written.
        limit: of `--max-memory`; None without.
    """

    memory: int
    free: int
    disk: int
    writable: bool
    cpus: int = 1
    limit: int | None = None

    @property
    def bound(self) -> int:
        """Return the bytes of memory that a stage may take."""
        return min(self.free, self.limit or self.free)


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

    @property
    def longest(self) -> float:
        """Return the seconds of the longest piece."""
        return self.cost.seconds / self.parts * (SKEW if self.parts > 1 else 1)

    def row(self) -> dict[str, object]:
        """Return it as a row of the JSON plan."""
        return {
            "stage": self.cost.stage,
            "method": self.method or None,
            "times": self.times,
            "seconds": self.cost.seconds,
            "seconds_low": self.low.seconds,
            "seconds_high": self.high.seconds,
            "memory": int(self.cost.memory),
            "memory_high": int(self.high.memory),
            "disk": int(self.cost.disk),
            "disk_high": int(self.high.disk),
            "parts": self.parts,
            "rough": self.cost.rough,
        }


Pricing = Callable[[Workload], Sequence[Line]]


def machine(folder: Path, limit: int | None = None) -> Machine:
    """Look at this machine.

    Args:
        folder: of the outputs, there or not.
    """
    memory = psutil.virtual_memory()
    return Machine(
        memory=memory.total,
        free=min(memory.total, memory.available, _group_limit() or memory.total),
        disk=shutil.disk_usage(nearest(folder)).free,
        writable=writable(folder),
        cpus=os.cpu_count() or 1,
        limit=limit,
    )


def nearest(folder: Path) -> Path:
    """Return the folder that is there at or above `folder`."""
    folder = folder.absolute()
    return next(p for p in (folder, *folder.parents) if p.is_dir())


def writable(folder: Path) -> bool:
    """Tell whether a folder, there or not, can be written to or made."""
    folder = folder.absolute()
    there = next(p for p in (folder, *folder.parents) if p.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _group_limit() -> int:
    """Return the memory limit of a container; 0 without one."""
    try:
        return int(CGROUP.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no such file, or the word max
        return 0


def findings(
    table: Sequence[Line], total_disk: float, there: Machine, again: Pricing, work: Workload
) -> list[Finding]:
    """Return what does not fit, with the changes that would make it fit, and what fits only with
    luck.

    Args:
        again: prices the plan under another workload.
    """
    free = format_bytes(there.free)
    above = there.limit is not None and there.limit > there.free
    bound = f"{free} are free"
    if there.limit is not None and not above:
        bound = f"{format_bytes(there.bound)} --max-memory allows"
    dearest = {t.cost.stage: t for t in sorted(table, key=lambda t: t.cost.memory)}
    found = [_memory(line, there.bound, bound, again, work) for line in dearest.values()]
    out = [finding for finding in found if finding is not None]
    if total_disk > there.disk:
        what = (
            f"the artefacts need about {format_bytes(total_disk)} of disk, "
            f"{format_bytes(there.disk)} are free"
        )
        out.append(Finding(STOP, what, *_less_disk(there.disk, again, work)))
    if not there.writable:
        what = "the folder of --outputs cannot be written"
        out.append(Finding(STOP, what, "name another, or change its permissions"))
    if above:
        out.append(Finding(NOTE, f"--max-memory is more than the {free} that are free"))
    return out


def _memory(line: Line, bound: int, words: str, again: Pricing, work: Workload) -> Finding | None:
    """Return what there is to say about the memory of a stage; `words` say what it may take."""
    stage = line.cost.stage
    if line.cost.memory > bound:
        what = f"{stage} needs about {format_bytes(line.cost.memory)} of memory, {words}"
        return Finding(STOP, what, *_less_memory(stage, bound, again, work))
    if line.high.memory > bound:
        what = (
            f"{stage} needs up to {format_bytes(line.high.memory)} of memory if more edges lie "
            f"inside tasks, {words}"
        )
        return Finding(WARN, what, "make the split first: its counts are exact")
    return None


def _less_memory(
    stage: str, bound: int, again: Pricing, work: Workload
) -> tuple[str, tuple[str, ...]]:
    """Return the first change under which a stage fits, in words and as parameters; else what
    machine it needs.
    """

    def need(changed: Workload) -> float:
        return max(t.cost.memory for t in again(changed) if t.cost.stage == stage)

    frugal, option = work, ""
    if stage == "precompute":
        frugal, option = replace(work, limit=bound), " and --max-memory"
        if not work.limit and need(frugal) <= bound:
            return f"go through the disk: --max-memory {bound // MIB}M", ()
    if stage == "train":
        frugal = replace(work, node_batch=LEAST_BATCH)
        option = f" and --set train.node_batch={LEAST_BATCH}"
        for batch in BATCHES:
            smaller = not work.node_batch or batch < work.node_batch
            if smaller and need(replace(work, node_batch=batch)) <= bound:
                change = f"train.node_batch={batch}"
                return f"train in batches: --set {change} (accuracy may differ)", (change,)
    least, now = need(frugal), need(work)
    if least >= now:
        least, option = now, ""
    size = format_bytes(least * 1.2)
    return f"take a machine with {size} of memory or more{option}, or fewer nodes or edges", ()


def _less_disk(there: int, again: Pricing, work: Workload) -> tuple[str, tuple[str, ...]]:
    """Return the least that can be left out for the rest to fit; else the disk it needs."""

    def need(changed: Workload) -> float:
        return sum(t.cost.disk * t.times for t in again(changed))

    for names in (("store_x",), ("store_edges",), ("store_x", "store_edges")):
        fewer = replace(
            work,
            store_x=work.store_x and "store_x" not in names,
            store_edges=work.store_edges and "store_edges" not in names,
        )
        if need(fewer) <= there:
            changes = tuple(f"precompute.{name}=false" for name in names)
            options = " ".join(f"--set {change}" for change in changes)
            return f"leave out what few methods read: {options}", changes
    return f"a file system with {format_bytes(need(work) * 1.1)} free, named by --outputs", ()
