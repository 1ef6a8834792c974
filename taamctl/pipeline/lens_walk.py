"""The protocol lens over all trained runs of a command: here, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.params.run_params import RunParams
from taamctl.pipeline import lens_run
from taamctl.pipeline.lens_run import LensInputs
from taamctl.runtime import stage_jobs
from taamctl.runtime.job import Context
from taamctl.runtime.stage_jobs import Which

if TYPE_CHECKING:
    from distributed import Client


def all_runs(context: Context, client: Client | None = None) -> list[Path]:
    """Look at every trained run of the `run` section and return the files."""
    found = of_datasets(context, context.params.section(RunParams).datasets, client)
    context.tell(
        "warning: one vote for a graph or batch that mixes tasks cannot fit all of its nodes: "
        "there, see the node column"
    )
    return found


def of_datasets(
    context: Context, datasets: Iterable[str], client: Client | None = None
) -> list[Path]:
    """Look at every trained run of some data sets and return the files.

    Args:
        client: of the Dask cluster that does the work; None: this process.
    """
    seeds = context.params.section(RunParams).seeds
    if client is not None:
        return _on_workers(context, [(d, s) for d in datasets for s in seeds], client)
    found = []
    for dataset in datasets:
        inputs = LensInputs(context, dataset)
        for seed in seeds:
            found += _look(inputs, seed)
    return found


def of_seed(context: Context, dataset: str, seed: int) -> None:
    """Look at every method that was trained with one seed: they share the routers' decisions."""
    _look(LensInputs(context, dataset), seed)


def _look(inputs: LensInputs, seed: int) -> list[Path]:
    methods = inputs.context.params.section(RunParams).methods
    return [lens_run.run(inputs, method, seed).path for method in methods]


def _on_workers(context: Context, wanted: list[tuple[str, int]], client: Client) -> list[Path]:
    from taamctl.cluster import stage_units

    methods = context.params.section(RunParams).methods
    units = []
    for dataset, seed in wanted:
        jobs = tuple(stage_jobs.lens(context, Which(dataset, m, seed)) for m in methods)
        label = f"{dataset}/seed-{seed}"
        units.append(stage_units.Unit(label, context, of_seed, (dataset, seed), jobs))
    stage_units.finish(client, "lens", units)
    return [job.outputs[0] for unit in units for job in unit.jobs]
