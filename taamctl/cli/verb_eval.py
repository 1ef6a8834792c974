"""`taamctl eval`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from taamctl.cli import common, console
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from pathlib import Path

    from taamctl.runtime.job import Context


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    lens: Annotated[
        bool,
        typer.Option(
            "--lens",
            help="Also: AA and task IDs per graph, component, batch and node, on graphs that hold "
            "one task and on one that mixes all (lens.json), and print that table.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --lens: print the rows as JSON.")
    ] = False,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Evaluate: accuracy matrices for all logit scopes, AA, BWT, AF, task-ID accuracy, cost."""
    from taamctl.core.errors import TaamctlError
    from taamctl.stages import eval as stage

    if as_json and not lens:
        raise TaamctlError(
            "--json prints the lens, which was not asked for",
            "add --lens, or see eval.json and metrics.json",
        )
    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=None,
        force=force,
        no_wait=no_wait,
        quiet=quiet,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
    )
    for run in common.grid(context):
        stage.run(context, *run)
    if lens:
        show(look(context), context.params.section(ReportParams).decimals, as_json)


def look(context: Context) -> list[Path]:
    """Look at every trained run through the lens and return the files; what methods of a data
    set share is made once.
    """
    from taamctl.pipeline import lens_run

    run = context.params.section(RunParams)
    made = []
    for dataset in run.datasets:
        bench = lens_run.Bench(context, dataset)
        made += [
            lens_run.run(bench, method, seed).path for seed in run.seeds for method in run.methods
        ]
    context.tell(
        "warning: one vote for a graph or batch that mixes tasks cannot fit all of its nodes: "
        "there, see the node column"
    )
    return made


def show(paths: list[Path], decimals: int, as_json: bool) -> None:
    """Print the lens rows on stdout, as a table or as JSON."""
    import json

    from taamctl.report import lens_table

    found = lens_table.rows(paths)
    if as_json:
        print(json.dumps(found, indent=1, allow_nan=False))
        return
    from rich.table import Table

    out = console.sheet()
    columns, lines = lens_table.table(found, decimals, 3)
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in columns[:4] else "right", no_wrap=True)
    for line in lines:
        table.add_row(*line)
    out.print(table)
    for note in lens_table.NOTES:
        out.print(note, style="dim", soft_wrap=not out.is_terminal)
