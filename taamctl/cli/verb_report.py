"""`taamctl report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Option

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, sheet
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams


def command(
    *,
    grid: Grid,
    settings: Settings,
    also: Annotated[
        list[Path] | None, Option("--also", help="Further output folders to put beside.")
    ] = None,
    everything: Annotated[
        bool, Option("--all", help="Everything that is there, whatever the run section says.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print report.json on stdout.")] = False,
    writing: Writing,
) -> None:
    """Gather evaluations into tables (Markdown, CSV, JSON) and pictures, and print the table."""
    from taamctl.stages import report

    context = make_context(grid, settings, replace(writing, quiet=writing.quiet or as_json))
    for folder in also or ():
        if not folder.is_dir():
            raise TaamctlError(
                f"--also {folder} is no folder", "name the --outputs folder of another run"
            )
    path = report.run(context, also or (), everything=everything).path
    if as_json:
        print(path.read_text(encoding="utf-8"), end="")
    else:
        show(path, context.params.section(ReportParams).decimals)


def show(path: Path, decimals: int) -> None:
    """Print a report's rows as a table on stdout; a narrow terminal goes without one column."""
    from taamctl.report import render
    from taamctl.report.report_rows import read_rows

    rows = read_rows(path)
    wide = sheet().width >= 100
    shown = [i for i, name in enumerate(render.COLUMNS) if wide or name != "task-ID by"]
    names = [render.COLUMNS[i] for i in shown]
    cells = [render.cells(row, decimals) for row in rows]
    print_table(
        [Column(name, right="%" in name or name == "cost M") for name in names],
        [[row[i] for i in shown] for row in cells],
        notes=render.conditions(rows),
    )
