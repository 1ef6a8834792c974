"""The lens of graphs of one's own: nobody tells such a graph's tasks apart, so what a method gives
on one mixed graph is what counts there.
"""

from __future__ import annotations

from taamctl.core import registry
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.run_params import RunParams
from taamctl.runtime.job import Context


def looked_at(context: Context) -> list[str]:
    """Return the data sets of the run whose mixed graph is looked at."""
    kept = context.params.section(PrecomputeParams)
    return _own(context) if kept.store_x and kept.store_edges else []


def look(context: Context) -> None:
    """Look at every run on a graph of one's own; every other run gets a folder that may be empty,
    for DVC's stage of it.
    """
    wanted = looked_at(context)
    if not wanted and _own(context):
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
        from taamctl.pipeline import lens_run  # torch: other data sets do without

        lens_run.of_datasets(context, wanted)


def _own(context: Context) -> list[str]:
    own = registry.imported("taamctl.datasets")
    return [name for name in context.params.section(RunParams).datasets if name in own]
