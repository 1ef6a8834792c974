"""`taamctl lens`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(
    *,
    grid: Grid,
    settings: Settings,
    own: Annotated[
        bool,
        Option("--own", help="Only debian and graphs of your own, as `taamctl run`; else all."),
    ] = False,
    executor: Executor,
    writing: Writing,
) -> None:
    """Ask trained methods once more: per graph, component, batch and node, grouped and mixed.

    `taamctl eval --lens` prints what is found.
    """
    from taamctl.pipeline import own_graphs

    context = make_context(grid, settings, writing)
    with at_work(context, executor, "lens") as (here, client):
        if own:
            own_graphs.look(here, client)
            return
        from taamctl.pipeline import lens_walk

        lens_walk.all_runs(here, client)
    context.tell(f"next: {next_step.command('report', grid, settings)}")
