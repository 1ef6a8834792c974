"""`taamctl precompute`."""

from __future__ import annotations

from taamctl.cli import next_step, within_memory
from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Datasets, Grid, RawSettings, Writing


def command(*, datasets: Datasets = None, settings: RawSettings, writing: Writing) -> None:
    """Propagate features over every part's own edges: H = S^k X, hop means and profiles."""
    from taamctl.pipeline import walk

    grid = Grid(datasets)
    context = make_context(grid, settings, writing)
    within_memory.require(context, "precompute")
    walk.one_stage(context, "precompute")
    context.tell(f"next: {next_step.command('train', grid, settings)}")
