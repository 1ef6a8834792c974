"""`taamctl data doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import AsJson, DatasetName, Grid, RawSettings, Writing


def command(*, name: DatasetName, settings: RawSettings, as_json: AsJson = False) -> None:
    """Say what a graph is like, what a split makes of it, what a run needs, and what to change.

    Exit code 1 where a run would stop.
    """
    from taamctl.doctor import examine

    report = examine.examine(make_context(Grid([name]), settings, Writing()), name)
    if as_json:
        typer.echo(json.dumps(report, indent=1, allow_nan=False, default=asdict))
    else:
        typer.echo("\n".join(examine.lines(report)))
    if not report["ok"]:
        raise typer.Exit(1)
