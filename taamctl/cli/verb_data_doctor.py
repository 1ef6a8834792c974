"""`taamctl data doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from typer import Option

from taamctl.cli import next_step
from taamctl.cli.common import make_context
from taamctl.cli.shared_options import AsJson, DatasetName, Grid, RawSettings, Writing


def command(
    *,
    name: DatasetName,
    settings: RawSettings,
    quick: Annotated[
        bool, Option("--quick", help="Name what may help, and do not try it on validation nodes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a graph is like, what a split makes of it, what a run needs, and what to change.

    What may help is tried first: its gain on validation nodes stands beside it. Exit code 1 where a
    run would stop.
    """
    from taamctl.doctor import examine

    grid = Grid([name])
    context = make_context(grid, settings, Writing())
    report = examine.examine(context, name, quick=quick)
    if as_json:
        typer.echo(json.dumps(report, indent=1, allow_nan=False, default=asdict))
    else:
        typer.echo("\n".join(examine.lines(report)))
    if not report["ok"]:
        raise typer.Exit(1)
    context.tell(f"next: {next_step.command('run', grid, settings)}")
