"""`taamctl infer`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(
    grid: Grid,
    settings: Settings,
    executor: Executor,
    writing: Writing,
    csv: Annotated[
        Path | None,
        Option("--csv", help="Also write a table of all val and test nodes with what they are."),
    ] = None,
) -> None:
    """Infer task IDs and predict the val and test parts; warn where validation says that task IDs
    are not safe.
    """
    from taamctl.pipeline import prediction_table, routing_account, walk

    context = make_context(grid, settings, writing, check_methods=True)
    with at_work(context, executor, "infer") as (here, client):
        walk.one_stage(here, "infer", client)
    routing_account.tell(context)
    if csv is not None:
        lines = prediction_table.write(context, csv)
        context.tell(f"wrote {csv}: {lines:,} predictions, after the last task")
    context.tell(f"next: {next_step.command('eval', grid, settings)}")
