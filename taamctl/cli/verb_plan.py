"""`taamctl plan`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from taamctl.cli import next_step
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, sheet
from taamctl.cli.shared_options import Grid, JsonOnStdout, MaxMemory, Quiet, Settings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams
from taamctl.params.train_params import TrainParams

if TYPE_CHECKING:
    from taamctl.planning.counts import Graph
    from taamctl.planning.plan import Plan
    from taamctl.runtime.job import Context

LEFT = ("stage", "method")  # columns of words


@dataclass(frozen=True)
class Numbers:
    """A graph that has not been brought yet."""

    nodes: Annotated[
        int | None, Option("--nodes", help="Nodes of a graph that has not been brought yet.")
    ] = None
    edges: Annotated[
        int | None, Option("--edges", help="Its edges, as its source counts them.")
    ] = None
    features: Annotated[int | None, Option("--features", help="Its features per node.")] = None
    classes: Annotated[int | None, Option("--classes", help="Its classes.")] = None
    labelled: Annotated[
        int | None, Option("--labelled", help="How many of its nodes have a label. Default: all.")
    ] = None


def command(
    *,
    grid: Grid,
    settings: Settings,
    max_memory: MaxMemory = None,
    workers: Annotated[
        int,
        Option("--workers", min=0, help="Processes that share tasks, seeds and methods; 0: none."),
    ] = 0,
    calibrate: Annotated[
        bool,
        Option(
            "--calibrate/--no-calibrate",
            help="Measure this machine and every method, for some seconds each, or not.",
        ),
    ] = True,
    numbers: Numbers,
    as_json: JsonOnStdout = False,
    quiet: Quiet = False,
) -> None:
    """Say what every stage would take in time, memory and disk, before any of it, and what to
    change. Exit code 1 where it does not fit.
    """
    from taamctl.planning import calibrate as machine
    from taamctl.planning import plan

    context = make_context(
        grid, settings, Writing(quiet=quiet, max_memory=max_memory), check_methods=True
    )
    graphs = _graphs(context, grid.datasets, numbers)
    threads = context.params.section(TrainParams).threads
    if calibrate:
        rates = machine.measure(settings.outputs, threads, plan.device_of(context))
    else:
        rates = machine.packaged(threads)
    found = plan.make(context, graphs, rates, workers, rehearsed=calibrate)
    if as_json:
        typer.echo(json.dumps(found, indent=1, allow_nan=False, default=plan.as_json))
    else:
        _show(found)
    if not found["ok"]:
        raise typer.Exit(1)
    if grid.datasets:
        context.tell(f"next: {next_step.command('run', grid, settings)}")


def _graphs(context: Context, datasets: list[str] | None, numbers: Numbers) -> tuple[Graph, ...]:
    """Return the counts of the data sets, or of the graph that the numbers describe."""
    from taamctl.planning import counts

    given = {name: count for name, count in vars(numbers).items() if count is not None}
    if not given:
        names = context.params.section(RunParams).datasets
        return tuple(counts.of_dataset(context, name) for name in names)
    missing = [name for name in ("nodes", "edges", "features", "classes") if name not in given]
    example = (
        "such as --nodes 1000000 --edges 9000000 --features 100 --classes 40, without --dataset"
    )
    if datasets:
        raise TaamctlError("--dataset and counts of another graph at once", example)
    if missing:
        options = ", ".join(f"--{name}" for name in missing)
        raise TaamctlError(f"a graph in numbers needs {options} too", example)
    return (counts.given(**given),)


def _show(found: Plan) -> None:
    """Print a table per graph, and what there is to say about it."""
    from taamctl.planning import text

    out = sheet()

    def show(lines: list[str]) -> None:
        for line in lines:
            out.print(line)

    show(text.head(found))
    columns = [Column(name, right=name not in LEFT) for name in text.COLUMNS]
    for graph in found["graphs"]:
        show(text.about(graph))
        print_table(columns, text.rows(graph))
        show(text.verdict(graph))
    show(text.foot(found))
