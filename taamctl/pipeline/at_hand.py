"""Which data sets can be read here."""

from __future__ import annotations

from dataclasses import replace

from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams
from taamctl.runtime import raw_files
from taamctl.runtime.job import Context


def is_there(context: Context, dataset: str) -> bool:
    """Tell whether a data set's raw files are there, or none are needed."""
    source = data_set(dataset)
    return not source.meta.files or raw_files.find(context.data_root, source.layouts) is not None


def of_those_there(context: Context) -> list[Context]:
    """Return the context of a run over the data sets of it that can be read; none where none
    can.
    """
    tree = context.params.tree
    wanted = context.params.section(RunParams).datasets
    there = [name for name in wanted if is_there(context, name)]
    run = {**tree["run"], "datasets": there}
    own = replace(context, params=replace(context.params, tree={**tree, "run": run}))
    return [own] * bool(there)


def required(context: Context) -> list[str]:
    """Return the data sets of the run whose raw files are there.

    Raises:
        TaamctlError: none is.
    """
    wanted = context.params.section(RunParams).datasets
    found = [name for name in wanted if is_there(context, name)]
    if not found:
        raise TaamctlError(
            f"no raw data found of {', '.join(wanted)}",
            "name data sets that are there with --dataset; taamctl data lists them",
        )
    return found
