"""The lens of graphs of one's own, and of the one that comes along in their place: nobody tells
such a graph's tasks apart, so what a method gives on one mixed graph is what counts there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taamctl.core.data_set import data_set
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.run_params import RunParams
from taamctl.runtime.job import Context

if TYPE_CHECKING:
    from distributed import Client


def looked_at(context: Context) -> list[str]:
    """Return the data sets of the run whose mixed graph is looked at."""
    kept = context.params.section(PrecomputeParams)
    return _named(context) if kept.store_x and kept.store_edges else []


def look(context: Context, client: Client | None = None) -> None:
    """Look at every run on such a graph; every other run gets a folder that may be empty,
    for DVC's stage of it. `client`: of the Dask cluster that does the work.
    """
    wanted = looked_at(context)
    if not wanted and _named(context):
        context.tell(
            "note: no figures of a mixed graph: they need precompute.store_x and "
            "precompute.store_edges"
        )
    section = context.params.section(RunParams)
    for dataset in section.datasets:
        for method in section.methods:
            for seed in section.seeds:
                folder = context.layout.folder("lens", dataset, method, seed)
                folder.mkdir(parents=True, exist_ok=True)
    if wanted:
        from taamctl.pipeline import lens_walk  # torch: other data sets do without

        lens_walk.of_datasets(context, wanted, client)


def _named(context: Context) -> list[str]:
    return [name for name in context.params.section(RunParams).datasets if is_own(name)]


def is_own(dataset: str) -> bool:
    """Tell whether a graph is one's own, or is read from a file that comes along: papers say of
    those that are fetched how their test nodes are grouped, and a generated one is no graph of
    anybody.
    """
    source = data_set(dataset)
    packaged = not source.meta.files and source.meta.nodes > 0
    return source.imported is not None or packaged
