"""`taamctl data doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from taamctl.cli import common


def command(
    name: Annotated[
        str, typer.Argument(help="Data set, as `taamctl data list` names it.", show_default=False)
    ],
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a graph is like, what a split makes of it, what a run needs, and what to change.

    Exit code 1 where a run would stop.
    """
    from taamctl.doctor import examine

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=False,
        no_wait=False,
        quiet=False,
        datasets=[name],
    )
    report = examine.examine(context, name)
    typer.echo(
        json.dumps(report, indent=1, allow_nan=False, default=asdict)
        if as_json
        else "\n".join(examine.lines(report))
    )
    if not report["ok"]:
        raise typer.Exit(1)
