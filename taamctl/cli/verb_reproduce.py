"""`taamctl reproduce`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from taamctl.cli import reproduce_plans
from taamctl.cli.console import Column, print_table
from taamctl.cli.executor_options import Executor, cluster
from taamctl.cli.shared_options import OUTPUTS, RawSettings, Seeds, Writing
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.pipeline.plain_tables import PlainTable
    from taamctl.pipeline.printed_numbers import Table
    from taamctl.runtime.job import Context

SEEDLESS = ("params", "theory", "datasets")
LEFT = ("row", "dataset", "what")  # columns of words
Target = Annotated[
    str,
    Argument(
        help="main, lens, ablation, readings, tried, params (cost), taskid, sweeps, theory, "
        "datasets, or all.",
        show_default=False,
    ),
]


def command(
    *,
    target: Target,
    datasets: Annotated[
        list[str] | None,
        Option("--dataset", help="Data set; repeatable. Default: the paper's eight."),
    ] = None,
    seeds: Seeds = None,
    settings: RawSettings,
    as_json: Annotated[bool, Option("--json", help="Print the table as JSON on stdout.")] = False,
    executor: Executor,
    writing: Writing,
) -> None:
    """Run what a published table needs, and print paper, ours, difference and verdict in every
    cell; `all` makes every table.

    Runs that are there are reused. Writes outputs/reproduce/TARGET.md, .csv, .json and .tex. A data
    set whose raw files are not there is listed as such.
    """
    from taamctl.report import published

    targets: tuple[str, ...] = (target,)
    if target == "all":
        targets = published.ALL
    wanted = tuple(dict.fromkeys(datasets or published.datasets()))
    # What can be refused is refused before any work.
    executor.check()
    planned = [reproduce_plans.plan_of(name, wanted, seeds, settings, writing) for name in targets]
    planned, executor = reproduce_plans.fitting(planned, executor)
    shown = []
    with cluster(planned[0].base, executor) as client:
        for plan in planned:
            table = plan.table(None if datasets is None else wanted, client)
            arguments = _arguments(plan.target, datasets, plan.base, settings)
            command_line = " ".join([f"taamctl reproduce {plan.target}", *arguments])
            path = table.write(settings.outputs / "reproduce", command_line)
            shown.append(path.read_text(encoding="utf-8"))
            if not as_json:
                _show(table)
    planned[0].base.tell("next: taamctl docs reproduce-paper, which says how to read it")
    if as_json and target == "all":
        print(f"[{','.join(shown)}]")
    elif as_json:
        print(shown[0], end="")


def _arguments(
    target: str, datasets: list[str] | None, base: Context, settings: RawSettings
) -> Iterator[str]:
    """Yield the options that make the same table again."""
    for dataset in datasets or ():
        yield f"--dataset {dataset}"
    if target not in SEEDLESS:
        for seed in base.params.section(RunParams).seeds:
            yield f"--seed {seed}"
    for override in settings.overrides or ():
        yield f"--set {shlex.quote(override)}"
    if settings.params:
        yield f"--params {settings.params}"
    if settings.outputs != OUTPUTS:
        yield f"--outputs {settings.outputs}"


def _show(table: Table | PlainTable) -> None:
    """Print a table's cells."""
    from taamctl.pipeline.printed_numbers import Table
    from taamctl.report import published

    title = published.title(table.target)
    if not isinstance(table, Table):
        columns = [Column(name, name not in LEFT, wrap=True) for name in table.columns]
        print_table(columns, table.cells(), title=title, notes=table.conditions)
        return
    _show_cells(table, title)


def _show_cells(table: Table, title: str) -> None:
    """Print the cells; those without data are one line below, and in the files cell by cell."""
    from taamctl.report import reproduction

    right = ("paper", "ours", "difference")
    print_table(
        [Column(name, name in right, wrap=True) for name in reproduction.COLUMNS],
        [reproduction.cells(r) for r in table.records if r["verdict"] != "no data"],
        title=title,
        notes=[f"{reproduction.counts(table.records)}.", *table.conditions],
    )
