"""`taamctl precompute`."""

from __future__ import annotations

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor
from taamctl.cli.shared_options import Datasets, Grid, RawSettings, Writing


def command(
    *, datasets: Datasets = None, settings: RawSettings, executor: Executor, writing: Writing
) -> None:
    """Propagate features over every part's own edges: H = S^k X, hop means and profiles."""
    from taamctl.pipeline import walk

    grid = Grid(datasets)
    context = make_context(grid, settings, writing)
    with at_work(context, executor, "precompute") as (here, client):
        walk.one_stage(here, "precompute", client)
    context.tell(f"next: {next_step.command('train', grid, settings)}")
