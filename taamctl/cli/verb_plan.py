"""`taamctl plan`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import common
from taamctl.params.run_params import RunParams
from taamctl.params.train_params import TrainParams

if TYPE_CHECKING:
    from taamctl.planning.plan import Plan


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    max_memory: common.MaxMemory = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=0, help="Processes that share tasks, seeds and methods; 0: none."
        ),
    ] = 0,
    calibrate: Annotated[
        bool, typer.Option("--calibrate/--no-calibrate", help="Measure this machine (2 s), or not.")
    ] = True,
    nodes: Annotated[
        int | None, typer.Option("--nodes", help="Nodes of a graph that has not been brought yet.")
    ] = None,
    edges: Annotated[
        int | None, typer.Option("--edges", help="Its edges, as its source counts them.")
    ] = None,
    features: Annotated[
        int | None, typer.Option("--features", help="Its features per node.")
    ] = None,
    classes: Annotated[int | None, typer.Option("--classes", help="Its classes.")] = None,
    labelled: Annotated[
        int | None,
        typer.Option("--labelled", help="How many of its nodes have a label. Default: all."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
    quiet: common.Quiet = False,
) -> None:
    """Say what every stage would take in time, memory and disk, before any of it, and what to
    change. Exit code 1 where it does not fit.
    """
    from taamctl.planning import calibrate as machine
    from taamctl.planning import plan, text

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=None,
        force=False,
        no_wait=False,
        quiet=quiet,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
        check_methods=True,
        max_memory=max_memory,
    )
    graphs = _graphs(
        context,
        datasets,
        {"--nodes": nodes, "--edges": edges, "--features": features, "--classes": classes},
        labelled,
    )
    threads = context.params.section(TrainParams).threads
    rates = machine.packaged(threads)
    if calibrate:
        rates = machine.measure(outputs, threads, plan.device_of(context))
    made = plan.make(context, graphs, rates, workers)
    if as_json:
        typer.echo(json.dumps(made, indent=1, allow_nan=False, default=asdict))
    else:
        _show(made, text)
    if not made["ok"]:
        raise typer.Exit(1)


def _graphs(
    context: Any, datasets: list[str] | None, given: dict[str, int | None], labelled: int | None
) -> tuple[Any, ...]:
    """Return the counts of the data sets, or of the graph that the four numbers describe."""
    from taamctl.core.errors import TaamctlError
    from taamctl.planning import counts

    missing = [option for option, value in given.items() if value is None]
    if len(missing) == len(given) and labelled is None:
        return tuple(
            counts.of_dataset(context, name) for name in context.params.section(RunParams).datasets
        )
    if missing or datasets:
        what = f"a graph in numbers needs {', '.join(missing)} too"
        if datasets:
            what = "--dataset and counts of another graph at once"
        raise TaamctlError(
            what,
            "such as --nodes 1000000 --edges 9000000 --features 100 --classes 40, without "
            "--dataset",
        )
    return (
        counts.given(
            **{option.removeprefix("--"): int(value or 0) for option, value in given.items()},
            labelled=labelled,
        ),
    )


def _show(made: Plan, text: Any) -> None:
    """Print a table per graph, and what there is to say about it."""
    from rich.table import Table

    from taamctl.cli.console import sheet

    out = sheet()
    for line in text.head(made):
        out.print(line)
    for graph in made["graphs"]:
        for line in text.about(graph):
            out.print(line)
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in text.COLUMNS:
            table.add_column(
                name, justify="left" if name in ("stage", "method") else "right", no_wrap=True
            )
        for row in text.rows(graph):
            table.add_row(*row)
        out.print(table)
        for line in text.verdict(graph):
            out.print(line)
    for line in text.foot(made):
        out.print(line)
