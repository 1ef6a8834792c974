"""How many worker processes of this machine fit into `--max-memory`, which they share with the
process that starts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from taamctl.core.errors import TaamctlError
from taamctl.core.memory import mib
from taamctl.core.units import MIB, format_bytes
from taamctl.features.memory_limit import LEAST
from taamctl.planning import costs, counts, memory_need
from taamctl.planning.costs import Counts, Workload
from taamctl.planning.memory_need import SPARE, Stage
from taamctl.planning.plan import counted, workload
from taamctl.runtime.job import Context

OWN = 420 * MIB  # of this process while its workers are at work
IDLE = 120 * MIB  # of a worker that has had nothing to do yet
WORKER = 80 * MIB  # of a worker beside what its unit of work takes


def that_fit(context: Context, ahead: Iterable[Stage], wanted: int) -> int:
    """Return how many workers to start, `wanted` at most, and say where they are fewer.

    Args:
        ahead: what the command would make.

    Raises:
        TaamctlError: not one worker fits beside this process.
    """
    limit = context.max_memory
    assert limit is not None
    prices = [price(context, stage) for stage in ahead]
    free = limit - OWN
    for fit in range(wanted, 0, -1):
        busy = max((of(fit) for of in prices), default=0.0) + WORKER
        each = max(busy, IDLE)
        if fit * each <= free:
            break
    else:
        raise TaamctlError(
            f"--max-memory {format_bytes(limit)}: a worker takes up to {format_bytes(each)} beside "
            f"{format_bytes(OWN)} of this process",
            f"leave --executor dask out, or allow --max-memory {mib(int(SPARE * (OWN + each)))}M",
        )
    if fit < wanted:
        context.tell(
            f"note: --max-memory {format_bytes(limit)} has room for {fit} of {wanted} workers: a "
            f"unit of work takes up to {format_bytes(each)}"
        )
    return fit


def admit(context: Context, stage: Stage, workers: int) -> None:
    """Refuse a stage whose largest unit takes more than one of so many workers may have.

    Raises:
        TaamctlError: it does, with what would do.
    """
    limit = (context.max_memory or 0) + context.for_workers
    need = unit(context, stage, workers) + WORKER
    if need > (limit - OWN) / workers:
        enough = mib(int(SPARE * (OWN + workers * need)))
        raise TaamctlError(
            f"{stage[0]} {'/'.join(filter(None, stage[1:]))} needs about {format_bytes(need)} on a "
            f"worker, --max-memory {format_bytes(limit)} leaves {workers} of them "
            f"{format_bytes((limit - OWN) / workers)} each",
            f"allow more: --max-memory {enough}M; or start fewer: --workers",
        )


def unit(context: Context, stage: Stage, workers: int) -> float:
    """Return the bytes that a stage's largest unit takes on one of so many workers."""
    return price(context, stage)(workers)


def price(context: Context, stage: Stage) -> Callable[[int], float]:
    """Return the same for any number of workers; 0 of what no worker does.

    Only a unit of `precompute` depends on how many there are: it has its share of the columns.
    """
    name, dataset, _ = stage
    need = 0.0
    if name in memory_need.ELSEWHERE:
        need = memory_need.needed(replace(context, max_memory=None), stage) or 0.0
    if name != "precompute":
        return lambda workers: need
    work = workload(context)
    graph = counts.of_dataset(context, dataset)
    (_, middle, _), _ = counted(context, graph, work.hops)
    return partial(columns, middle, work)


def columns(c: Counts, w: Workload, workers: int) -> float:
    """Return the bytes of a unit of `precompute` on one of so many workers: some columns of the
    features of all groups.
    """
    width = max(LEAST, min(costs.COLUMNS, math.ceil(c.features / workers)))
    raw = 0.0
    if not c.streams:
        raw = c.raw
    held = (28.0 + 4.0 * width) * c.rows + 4.0 * c.nodes
    return costs.TORCH + raw + held + costs.group(c, w, width)
