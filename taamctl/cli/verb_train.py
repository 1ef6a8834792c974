"""`taamctl train`."""

from __future__ import annotations

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor
from taamctl.cli.live_metrics import Listening
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(
    grid: Grid, settings: Settings, executor: Executor, listening: Listening, writing: Writing
) -> None:
    """Train each method over the task stream; an interrupted run goes on where it stopped."""
    from taamctl.pipeline import walk

    context = make_context(grid, settings, writing, check_methods=True)
    with at_work(listening.to(context), executor, "train") as (here, client):
        walk.one_stage(here, "train", client)
    context.tell(f"next: {next_step.command('infer', grid, settings)}")
