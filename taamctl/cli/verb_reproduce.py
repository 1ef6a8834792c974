"""`taamctl reproduce`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, teller
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import OUTPUTS, Grid, RawSettings, Seeds, Writing
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.pipeline.printed_numbers import Table
    from taamctl.runtime.job import Context

Target = Annotated[
    str, Argument(help="main, ablation, params (cost), taskid, or sweeps.", show_default=False)
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
    writing: Writing,
) -> None:
    """Run what a published table needs, and print paper, ours, difference and verdict in every
    cell.

    Runs that are there are reused. Writes outputs/reproduce/TARGET.md, .csv, .json and .tex. A data
    set whose raw files are not there is listed as such.
    """
    from taamctl.pipeline import printed_numbers
    from taamctl.report import published

    rows = published.rows(target)
    made_by = f"taamctl reproduce {target}"
    wanted = list(dict.fromkeys(datasets or published.datasets()))

    def context_of(methods: list[str], sets: tuple[str, ...] = ()) -> Context:
        changed = replace(settings, overrides=[*(settings.overrides or ()), *sets])
        quiet = replace(writing, quiet=True)
        context = make_context(Grid(wanted, methods, seeds), changed, quiet, check_methods=True)
        return replace(
            context,
            layout=printed_numbers.layout_of(settings.outputs, sets, made_by),
            progress=make_progress(writing.quiet),
            tell=teller(writing.quiet),
        )

    # What can be refused is refused before any work.
    contexts = {(row.method, row.sets): context_of([row.method], row.sets) for row in rows}
    base = context_of(sorted({row.method for row in rows}))
    if target == "params":
        table = printed_numbers.cost_table(base, datasets and wanted)
    else:
        table = printed_numbers.measured_table(target, base, contexts)
    arguments = _arguments(target, datasets, base, settings)
    path = table.write(settings.outputs / "reproduce", " ".join([made_by, *arguments]))
    if as_json:
        print(path.read_text(encoding="utf-8"), end="")
    else:
        _show(table)


def _arguments(
    target: str, datasets: list[str] | None, base: Context, settings: RawSettings
) -> Iterator[str]:
    """Yield the options that make the same table again."""
    for dataset in datasets or ():
        yield f"--dataset {dataset}"
    if target != "params":
        for seed in base.params.section(RunParams).seeds:
            yield f"--seed {seed}"
    for override in settings.overrides or ():
        yield f"--set {shlex.quote(override)}"
    if settings.params:
        yield f"--params {settings.params}"
    if settings.outputs != OUTPUTS:
        yield f"--outputs {settings.outputs}"


def _show(table: Table) -> None:
    """Print the cells; those without data are one line below, and in the files cell by cell."""
    from taamctl.report import published, reproduction

    right = ("paper", "ours", "difference")
    print_table(
        [Column(name, name in right, wrap=True) for name in reproduction.COLUMNS],
        [reproduction.cells(r) for r in table.records if r["verdict"] != "no data"],
        title=published.title(table.target),
        notes=[f"{reproduction.counts(table.records)}.", *table.conditions],
    )
