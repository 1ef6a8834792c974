"""`taamctl lens`."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from taamctl.cli import next_step, within_memory
from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(
    *,
    grid: Grid,
    settings: Settings,
    own: Annotated[
        bool,
        Option("--own", help="Only debian and graphs of your own, as `taamctl run`; else all."),
    ] = False,
    writing: Writing,
) -> None:
    """Ask trained methods once more: per graph, component, batch and node, grouped and mixed.

    `taamctl eval --lens` prints what is found.
    """
    from taamctl.pipeline import own_graphs

    context = make_context(grid, settings, writing)
    within_memory.require(context, "lens")
    if own:
        own_graphs.look(context)
        return
    from taamctl.pipeline import lens_run

    lens_run.all_runs(context)
    context.tell(f"next: {next_step.command('report', grid, settings)}")
