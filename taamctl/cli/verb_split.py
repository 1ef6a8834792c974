"""`taamctl split`."""

from __future__ import annotations

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor
from taamctl.cli.shared_options import Datasets, Grid, RawSettings, Writing


def command(
    *, datasets: Datasets = None, settings: RawSettings, executor: Executor, writing: Writing
) -> None:
    """Form tasks, split every class into train, val and test, and keep only the edges inside
    each part.
    """
    from taamctl.pipeline import walk

    grid = Grid(datasets)
    context = make_context(grid, settings, writing)
    with at_work(context, executor, "split") as (here, client):
        walk.one_stage(here, "split", client)
    context.tell(f"next: {next_step.command('precompute', grid, settings)}")
