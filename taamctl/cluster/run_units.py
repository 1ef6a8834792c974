"""Inference and evaluation on a cluster: every trained run is a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from taamctl.cluster import stage_units
from taamctl.cluster.stage_units import Unit
from taamctl.runtime import stage_jobs
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_jobs import Which
from taamctl.stages import eval as evaluate
from taamctl.stages import infer

if TYPE_CHECKING:
    from distributed import Client

Run = tuple[str, str, int]
STAGES = ("infer", "eval")
JOBS: dict[str, Callable[[Context, Which], Job]] = {
    "infer": stage_jobs.infer,
    "eval": stage_jobs.evaluation,
}
VERBS: dict[str, Callable[..., object]] = {"infer": infer.run, "eval": evaluate.run}


def finish(
    client: Client, context: Context, runs: Sequence[Run], stages: tuple[str, ...] = STAGES
) -> None:
    """Infer and evaluate runs whose training is there, or do one of the two.

    Args:
        client: a `distributed.Client`.
        runs: (data set, method, seed).

    Raises:
        TaamctlError: as `stage_units.finish`.
    """
    units = []
    for run in runs:
        which = Which(*run)
        jobs = tuple(JOBS[stage](context, which) for stage in stages)
        units.append(Unit(which.label, context, partial(do, stages), run, jobs))
    stage_units.finish(client, " and ".join(stages), units)


def do(stages: Sequence[str], context: Context, dataset: str, method: str, seed: int) -> None:
    """Do some stages of one run."""
    for stage in stages:
        VERBS[stage](context, dataset, method, seed)
