"""What a stage needs of memory, held against `--max-memory` before it begins.

The estimates are those that `taamctl plan` prints: from the split's exact counts where it is there,
else from those of the middle of its range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from taamctl.core.errors import TaamctlError
from taamctl.core.memory import mib
from taamctl.core.units import format_bytes
from taamctl.params.train_params import LensParams, RidgeParams, TrainParams
from taamctl.planning import costs, counts, ridge_costs
from taamctl.planning.costs import REFERENCE, Cost, Counts, Workload
from taamctl.planning.families import answering, training
from taamctl.planning.fit import BATCHES
from taamctl.planning.plan import counted, declared, workload
from taamctl.runtime.job import Context, Job

Stage = tuple[str, str, str]  # stage, data set, method; none where the stage has none
ELSEWHERE = ("split", *costs.SHARED, "lens")  # stages that one worker does as this process does
SPARE = 1.1  # of a limit that is named as one that would do


def stages_of(jobs: Iterable[Job]) -> list[Stage]:
    """Return what is made by some jobs, each once."""
    found: dict[Stage, None] = {}
    for job in jobs:
        dataset, *run = job.label.split("/")
        found[job.stage, dataset, "/".join(run[:1])] = None
    return list(found)


def require(context: Context, stages: Iterable[Stage]) -> None:
    """Refuse stages that need more than the context's limit; without one nothing is refused.

    Raises:
        TaamctlError: the first of them, with what would do.
    """
    limit = context.max_memory
    if limit is None:
        return
    for stage in stages:
        need = needed(context, stage)
        if need is not None and need > limit:
            raise _too_much(context, stage, need, limit)


def admit(context: Context, job: Job) -> None:
    """Refuse a job that is about to begin, likewise."""
    require(context, stages_of([job]))


def needed(context: Context, stage: Stage) -> float | None:
    """Return the bytes that a stage needs at its peak, libraries included; None where no estimate
    exists.
    """
    name, dataset, _ = stage
    if name == "report":
        return costs.report().memory
    price = _price(context, stage)
    if price is None:
        return None
    work = workload(context)
    graph = counts.of_dataset(context, dataset)
    (_, middle, _), _ = counted(context, graph, work.hops)
    return price(middle, work).memory


def _price(context: Context, stage: Stage) -> Callable[[Counts, Workload], Cost] | None:
    name, _, method = stage
    plain: dict[str, Callable[[Counts, Workload], Cost]] = {
        "split": lambda c, w: costs.split(c, REFERENCE),
        "precompute": lambda c, w: costs.precompute(c, w, REFERENCE),
        "eval": lambda c, w: costs.evaluate(c),
    }
    if name in plain or name not in ("train", "infer", "lens"):
        return plain.get(name)
    of = declared(context, method)
    if name == "lens":
        router = context.params.section(LensParams).router
        routed = of.facts.task_id == "inferred" or isinstance(of.params, RidgeParams)
        return lambda c, w: ridge_costs.lens(c, router, routed=routed)
    if name == "train":
        return lambda c, w: training(of.facts.family, of.params, c, w, REFERENCE)
    return lambda c, w: answering(of, c, w, REFERENCE)


def _too_much(context: Context, stage: Stage, need: float, limit: int) -> TaamctlError:
    name, dataset, method = stage
    what = "/".join(filter(None, (dataset, method)))
    workers = context.for_workers
    message = (
        f"{name} {what} needs about {format_bytes(need)} of memory, --max-memory allows "
        f"{format_bytes(max(0, limit))}"
    )
    if workers:
        message += f" beside {format_bytes(workers)} of workers"
    hints = [f"allow more: --max-memory {mib(int(SPARE * need) + workers)}M"]
    batch = _smaller_batch(context, stage, limit)
    if batch:
        hints.append(f"or train in batches: --set train.node_batch={batch} (accuracy may differ)")
    if name in ELSEWHERE:
        hints.append("or taamctl run on larger machines: --executor dask --scheduler ADDRESS")
    return TaamctlError(message, "; ".join(hints))


def _smaller_batch(context: Context, stage: Stage, limit: int) -> int:
    """Return the largest batch under which a method's training fits; 0 where none does."""
    if stage[0] != "train":
        return 0
    tree = context.params.tree
    now = context.params.section(TrainParams).node_batch
    for batch in BATCHES:
        changed = {**tree, "train": {**tree["train"], "node_batch": batch}}
        smaller = replace(context, params=replace(context.params, tree=changed))
        need = needed(smaller, stage)
        if (not now or batch < now) and need is not None and need <= limit:
            return batch
    return 0
