"""`taamctl report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from taamctl.cli import common, console
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    also: Annotated[
        list[Path] | None, typer.Option("--also", help="Further output folders to put beside.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Everything that is there, whatever the run section says.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print report.json on stdout.")] = False,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Gather evaluations into tables (Markdown, CSV, JSON) and pictures, and print the table."""
    from taamctl.stages import report

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=None,
        force=force,
        no_wait=no_wait,
        quiet=quiet or as_json,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
    )
    for folder in also or ():
        if not folder.is_dir():
            raise TaamctlError(
                f"--also {folder} is no folder", "name the --outputs folder of another run"
            )
    outcome = report.run(context, also or (), everything=everything)
    if as_json:
        print(outcome.path.read_text(encoding="utf-8"), end="")
    else:
        show(outcome.path, context.params.section(ReportParams).decimals)


def show(path: Path, decimals: int) -> None:
    """Print a report's rows as a terminal table on stdout."""
    from rich.table import Table

    from taamctl.report import render
    from taamctl.store.atomic_files import read_json

    rows = read_json(path, "taamctl report")["rows"]
    out = console.sheet()
    left_out = {"task-ID by"} if out.width < 100 else set()
    shown = [i for i, name in enumerate(render.COLUMNS) if name not in left_out]
    table = Table(box=None, pad_edge=False)
    for name in (render.COLUMNS[i] for i in shown):
        table.add_column(
            name, justify="right" if "%" in name or name == "cost M" else "left", no_wrap=True
        )
    for row in rows:
        cells = render.cells(row, decimals)
        table.add_row(*(cells[i] for i in shown))
    out.print(table)
    for line in render.conditions(rows):
        out.print(line, style="dim", soft_wrap=not out.is_terminal)
