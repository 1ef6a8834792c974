"""`taamctl split`."""

from __future__ import annotations

from taamctl.cli import next_step, within_memory
from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Datasets, Grid, RawSettings, Writing


def command(*, datasets: Datasets = None, settings: RawSettings, writing: Writing) -> None:
    """Form tasks, split every class into train, val and test, and keep only the edges inside
    each part.
    """
    from taamctl.pipeline import walk

    grid = Grid(datasets)
    context = make_context(grid, settings, writing)
    within_memory.require(context, "split")
    walk.one_stage(context, "split")
    context.tell(f"next: {next_step.command('precompute', grid, settings)}")
