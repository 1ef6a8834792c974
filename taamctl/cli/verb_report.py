"""`taamctl report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, sheet
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams

if TYPE_CHECKING:
    pass


class Tables(StrEnum):
    """What tables for a paper are written in."""

    latex = "latex"
    markdown = "markdown"


FILES: dict[Tables | None, str] = {Tables.latex: "tables.tex", Tables.markdown: "tables.md"}


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
    tables: Annotated[
        Tables | None,
        Option("--tables", help="Print the tables for a paper: best in bold, second underlined."),
    ] = None,
    writing: Writing,
) -> None:
    """Gather evaluations into tables (Markdown, CSV, JSON) and pictures, and print the table."""
    from taamctl.stages import report

    quiet = writing.quiet or as_json or tables is not None
    context = make_context(grid, settings, replace(writing, quiet=quiet))
    _require_folders(also or ())
    path = report.run(context, also or (), everything=everything).path
    printed = {True: path.name}.get(as_json) or FILES.get(tables)
    if printed:
        print(path.with_name(printed).read_text(encoding="utf-8"), end="")
    else:
        show(path, context.params.section(ReportParams).decimals, context.tell)


def _require_folders(also: Sequence[Path]) -> None:
    for folder in also:
        if not folder.is_dir():
            raise TaamctlError(
                f"--also {folder} is no folder", "name the --outputs folder of another run"
            )


def show(path: Path, decimals: int, tell: Callable[[str], None]) -> None:
    """Print what a report found on stdout: in words, on one mixed graph, and as a table in one
    logit scope.
    """
    from taamctl.report import findings, render
    from taamctl.report.report_file import read_report

    found = read_report(path)
    out = sheet()
    for dataset in sorted({row.dataset for row in found.rows}):
        for line in findings.of(found.rows, found.mixed, dataset):
            out.print(f"{dataset}: {line}", soft_wrap=not out.is_terminal)
    print()
    if found.mixed:
        lines = [render.mixed_cells(each, decimals) for each in found.mixed]
        print_table([_column(name) for name in render.MIXED_COLUMNS], lines, keys=2)
        print()
    if found.rows:
        columns, cells = render.table(found.rows, decimals)
        notes = render.conditions(found.rows)
        print_table([_column(name) for name in columns], cells, keys=2, notes=notes)
    tell(f"next: open {path.with_name('report.html')}")


def _column(name: str) -> Column:
    return Column(name, right="%" in name or name == "cost M")
