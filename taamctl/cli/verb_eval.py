"""`taamctl eval`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import next_step
from taamctl.cli.at_work import at_work
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table
from taamctl.cli.executor_options import Executor
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context


def command(
    *,
    grid: Grid,
    settings: Settings,
    lens: Annotated[
        bool,
        Option(
            "--lens",
            help="Also: AA and task IDs per graph, component, batch and node, on graphs that hold "
            "one task and on one that mixes all (lens.json), and print that table.",
        ),
    ] = False,
    per_class: Annotated[
        bool,
        Option("--per-class", help="Also print how many nodes of every class are answered right."),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="With --lens: print the rows as JSON.")] = False,
    executor: Executor,
    writing: Writing,
) -> None:
    """Evaluate: accuracy matrices for all logit scopes, AA, BWT, AF, task-ID accuracy, cost."""
    from taamctl.pipeline import walk

    if as_json and (per_class or not lens):
        raise TaamctlError(
            "--json prints the lens, which was not asked for",
            "add --lens, leave out --per-class, or see eval.json and metrics.json",
        )
    context = make_context(grid, settings, writing)
    found: list[Path] = []
    with at_work(context, executor, "eval", *(["lens"] * lens)) as (here, client):
        walk.one_stage(here, "eval", client)
        if lens:
            from taamctl.pipeline import lens_walk

            found = lens_walk.all_runs(here, client)
    if lens and not per_class:
        show(found, context.params.section(ReportParams).decimals, as_json)
    if per_class:
        show_classes(context)
    context.tell(f"next: {next_step.command('report', grid, settings)}")


def show_classes(context: Context) -> None:
    """Print a table per data set on stdout."""
    from taamctl.pipeline import walk
    from taamctl.report import class_tables

    files = [context.layout.file("eval", *which) for which in walk.runs(context)]
    tables = class_tables.of_runs(files, context.params.section(ReportParams).decimals)
    for dataset, table in tables.items():
        columns = [Column(name, right=name not in ("task", "class")) for name in table.columns]
        notes = class_tables.notes(tables)
        print_table(columns, table.lines, keys=2, title=dataset, notes=notes)


def show(paths: list[Path], decimals: int, as_json: bool) -> None:
    """Print the lens rows on stdout, as a table or as JSON."""
    import msgspec

    from taamctl.report import lens_table

    found = lens_table.rows(paths)
    if as_json:
        print(json.dumps(msgspec.to_builtins(found), indent=1, allow_nan=False))
        return
    names, lines = lens_table.table(found, decimals, 3)
    columns = [Column(name, right=at >= 5) for at, name in enumerate(names)]
    print_table(columns, lines, keys=5, notes=lens_table.NOTES)
