"""What a verb does with `--max-memory` before any work: what would be made and does not fit is
refused, and no more workers are started than fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taamctl.cli.executor_options import Executor
    from taamctl.planning.memory_need import Stage
    from taamctl.runtime.job import Context, Job

ON_WORKERS = ("split", "precompute", "train", "infer", "eval", "lens")  # of a cluster, if any
IN_PARTS = ("precompute", "train")
EVERY = (*ON_WORKERS, "report")


def require(context: Context, *stages: str) -> None:
    """Refuse what would be made of some stages and needs more memory than there may be."""
    if context.max_memory is None:
        return
    from taamctl.planning import memory_need

    memory_need.require(context, _ahead(context, stages))


def _ahead(context: Context, stages: Iterable[str]) -> list[Stage]:
    """Return what would be made of some stages, each once for all seeds."""
    from taamctl.pipeline import status

    wanted = set(stages)
    made = (line for line in status.lines(context) if line.would in ("make", "check"))
    found = {(m.stage, m.dataset, m.method): None for m in made if m.stage in wanted}
    return list(found)


def prepared(
    contexts: Sequence[Context], executor: Executor, stages: Iterable[str] = EVERY
) -> tuple[list[Context], Executor]:
    """Refuse what does not fit, and return what is left of the limit for this process beside the
    workers that it starts, and as many of these as fit.

    Raises:
        TaamctlError: a stage does not fit, or not one worker does.
    """
    wanted = list(stages)
    found = list(contexts)
    if not found or found[0].max_memory is None:
        return found, executor
    if executor.executor == "dask":
        away = [stage for stage in wanted if stage in ON_WORKERS]
        wanted = [stage for stage in wanted if stage not in ON_WORKERS]
        fit = min(_workers(context, executor, away) for context in found)
        found = [_beside(context, fit) for context in found]
        executor = replace(executor, workers=fit or None)
    for context in found:
        require(context, *wanted)
    return found, executor


def _workers(context: Context, executor: Executor, stages: Iterable[str]) -> int:
    """Return how many workers of this machine fit for some stages; 0 where none is to be
    started.
    """
    if executor.workers is None:
        return 0
    from taamctl.planning import worker_memory

    return worker_memory.that_fit(context, _ahead(context, stages), executor.workers)


def _beside(context: Context, workers: int) -> Context:
    """Return a context for this process beside so many workers, which do most of its work."""
    from taamctl.planning import worker_memory

    limit = context.max_memory or 0
    beside = int(workers * worker_memory.IDLE)
    own = partial(_admit_beside, workers)
    return replace(context, max_memory=limit - beside, for_workers=beside, admit=own)


def _admit_beside(workers: int, context: Context, job: Job) -> None:
    """Refuse a job that needs more than the worker that does it may have, or than this process
    where no worker does it.

    Of `precompute` and `train` workers do parts, which were looked at before; and workers that were
    not started here have limits of their own.
    """
    from taamctl.planning import memory_need, worker_memory

    if job.stage not in ON_WORKERS:
        admit(context, job)
    elif workers and job.stage not in IN_PARTS:
        (stage,) = memory_need.stages_of([job])
        worker_memory.admit(context, stage, workers)


def admit(context: Context, job: Job) -> None:
    """Refuse a job that needs more memory than the context allows."""
    if context.max_memory is not None:
        from taamctl.planning import memory_need

        memory_need.admit(context, job)
