"""`taamctl train`."""

from __future__ import annotations

from taamctl.cli import next_step, within_memory
from taamctl.cli.common import make_context
from taamctl.cli.live_metrics import Listening
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(grid: Grid, settings: Settings, listening: Listening, writing: Writing) -> None:
    """Train each method over the task stream; an interrupted run goes on where it stopped."""
    from taamctl.pipeline import walk

    context = make_context(grid, settings, writing, check_methods=True)
    within_memory.require(context, "train")
    walk.one_stage(listening.to(context), "train")
    context.tell(f"next: {next_step.command('infer', grid, settings)}")
