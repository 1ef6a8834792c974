"""`taamctl compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import within_memory
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table
from taamctl.cli.executor_options import Executor, cluster
from taamctl.cli.shared_options import Grid, Profile, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams

if TYPE_CHECKING:
    from taamctl.pipeline.compare_runs import Cells


def command(
    *,
    grid: Grid,
    orders: Annotated[
        list[str] | None,
        Option(
            "--order",
            metavar="natural|SEED",
            help="Class order: natural, or the seed of a "
            "permutation; repeatable. Default: that of the split section.",
        ),
    ] = None,
    splits: Annotated[
        list[int] | None,
        Option(
            "--split",
            metavar="SEED",
            help="Seed of the split; repeatable. Default: split.seed.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        Option(
            "--scope",
            help="Compare all methods in this logit scope; own: each in its own, which are "
            "different tasks. Default: the one that all share, else all_seen.",
        ),
    ] = None,
    profile: Profile = None,
    settings: RawSettings,
    as_json: Annotated[bool, Option("--json", help="Print compare.json on stdout.")] = False,
    executor: Executor,
    writing: Writing,
) -> None:
    """Run methods over class orders, splits and seeds, and say which differ by more than chance
    and which do not.
    """
    from taamctl.pipeline import compare_runs

    check(orders, splits, scope)
    executor.check()
    context = make_context(grid, settings, writing, check_methods=True, profile=profile)
    cells, executor = _fitting(compare_runs.plan(context, orders, splits), executor)
    with cluster(context, executor) as client:
        path = compare_runs.run(context, cells, scope, client)
    if as_json:
        print(path.read_text(encoding="utf-8"), end="")
    else:
        show(path, context.params.section(ReportParams).decimals)
    context.tell("next: taamctl docs compare-methods, which says how to read it")


def _fitting(cells: Cells, executor: Executor) -> tuple[Cells, Executor]:
    """Return cells and executor within `--max-memory`."""
    own, executor = within_memory.prepared([context for _, context in cells], executor)
    return [(cell, context) for (cell, _), context in zip(cells, own, strict=True)], executor


def check(orders: list[str] | None, splits: list[int] | None, scope: str | None) -> None:
    """Refuse what cannot be meant, before any parameter file is read."""
    from taamctl.core.types import SCOPES
    from taamctl.report import comparison

    for order in orders or ():
        if order != "natural" and not (order.isascii() and order.isdecimal()):
            raise TaamctlError(
                f"--order {order}: neither natural nor a whole number from 0",
                "write --order natural, or the seed of a permutation, such as --order 1",
            )
    for split in splits or ():
        if split < 0:
            raise TaamctlError(
                f"--split {split}: a seed is not negative",
                "write the seed of a split, such as --split 42",
            )
    if scope not in (None, *SCOPES, comparison.OWN):
        raise TaamctlError(
            f"--scope {scope}: no such logit scope",
            f"there are: {', '.join((*SCOPES, comparison.OWN))}",
        )


def show(path: Path, decimals: int) -> None:
    """Print a comparison on stdout."""
    from taamctl.core.json_kinds import COMPARISON
    from taamctl.report import comparison_text
    from taamctl.store.atomic_files import read_json

    result = COMPARISON.read(read_json(path, "taamctl compare"), str(path))
    columns = [_column(name) for name in comparison_text.COLUMNS]
    rows = [comparison_text.cells(m, decimals) for d in result["datasets"] for m in d["methods"]]
    overall = comparison_text.overall_cells(result)
    notes = result["conditions"]
    print_table(columns, rows, keys=2, notes=() if overall else notes)
    if overall:
        print()
        columns = [Column(name, wrap=True) for name in ("method", "mean rank", "blocks")]
        print_table(columns, overall, notes=notes)


def _column(name: str) -> Column:
    right = "%" in name or name in ("rank", "minus best")
    return Column(name, right, wrap=name == "verdict")
