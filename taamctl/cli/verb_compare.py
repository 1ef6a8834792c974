"""`taamctl compare`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import common, console
from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams
from taamctl.params.split_params import SplitParams

if TYPE_CHECKING:
    from taamctl.report.comparison import Cell
    from taamctl.runtime.job import Context

NATURAL, PERMUTED = "natural", "seeded_permutation"


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    orders: Annotated[
        list[str] | None,
        typer.Option(
            "--order",
            metavar="natural|SEED",
            help="Class order: natural, or the seed of a "
            "permutation; repeatable. Default: that of the split section.",
        ),
    ] = None,
    splits: Annotated[
        list[int] | None,
        typer.Option("--split", help="Seed of the split; repeatable. Default: split.seed."),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope", help="Compare all methods in this logit scope. Default: each in its own."
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="Of the methods that have one: release, text, strict_gcil."),
    ] = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json on stdout.")] = False,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Run methods over class orders, splits and seeds, and say which differ by more than chance
    and which do not.
    """
    _check(orders, splits, scope)
    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=force,
        no_wait=no_wait,
        quiet=quiet,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
        check_methods=True,
        profile=profile,
    )
    path = compare(context, plan(context, orders, splits), scope)
    if as_json:
        print(path.read_text(encoding="utf-8"), end="")
    else:
        show(path, context.params.section(ReportParams).decimals)


def _check(orders: list[str] | None, splits: list[int] | None, scope: str | None) -> None:
    """Refuse what cannot be meant, before any parameter file is read."""
    for order in orders or ():
        if order != NATURAL and not (order.isascii() and order.isdecimal()):
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
    if scope is not None:
        from taamctl.core.types import SCOPES

        if scope not in SCOPES:
            raise TaamctlError(
                f"--scope {scope}: no such logit scope", f"there are: {', '.join(SCOPES)}"
            )


def plan(
    context: Context, orders: list[str] | None, splits: list[int] | None
) -> list[tuple[Cell, Context]]:
    """Return every (class order, split), each with a context of its own; what can be refused is
    refused here.
    """
    from taamctl.report.comparison import Cell

    if len(context.params.section(RunParams).methods) < 2:
        raise TaamctlError(
            "a comparison needs two methods, there is one: "
            + ", ".join(context.params.section(RunParams).methods),
            "name another one with --method",
        )
    usual = context.params.section(SplitParams)
    chosen = orders or [
        str(usual.order_seed) if usual.class_order == PERMUTED else usual.class_order
    ]
    found = []
    for order in dict.fromkeys(str(int(o)) if o.isdecimal() else o for o in chosen):
        for split in dict.fromkeys(splits or [usual.seed]):
            cell = Cell(order, split)
            change = (
                {"class_order": PERMUTED, "order_seed": int(order)}
                if order.isdecimal()
                else {"class_order": order}
            )
            tree = {
                **context.params.tree,
                "split": {**context.params.tree["split"], **change, "seed": split},
            }
            own = dataclasses.replace(
                context.params, source=f"{context.params.source} ({cell.label})", tree=tree
            )
            own.section(SplitParams)  # a seed may be too large
            layout = dataclasses.replace(
                context.layout, root=context.layout.root / "compare" / cell.folder
            )
            found.append((cell, dataclasses.replace(context, params=own, layout=layout)))
    return found


def compare(context: Context, cells: list[tuple[Cell, Context]], scope: str | None) -> Any:
    """Run every cell, reusing what is there, write the comparison and return its path."""
    from taamctl.cli.verb_run import walk_to_eval
    from taamctl.cli.verb_split import refuse_fixed_parts
    from taamctl.report import collect
    from taamctl.report import comparison as report
    from taamctl.store.lock import writing

    run, folder = context.params.section(RunParams), context.layout.root / "compare"
    orders, splits = ({getattr(cell, axis) for cell, _ in cells} for axis in ("order", "split"))
    axes = (
        (len(orders), "class order"),
        (len(splits), "split"),
        (len(run.datasets), "data set"),
        (len(run.methods), "method"),
        (len(run.seeds), "seed"),
    )
    context.tell(
        f"compare: {len(cells) * len(common.grid(context))} runs: "
        + " x ".join(f"{n} {name}{'s' if n > 1 else ''}" for n, name in axes)
        + f", below {folder}"
    )
    if note := report.too_few(len(cells), len(run.methods), len(run.seeds)):
        context.tell(f"note: {note}")
    refuse_fixed_parts([own for _, own in cells] if len(splits) > 1 else [])
    for number, (cell, own) in enumerate(cells, 1):
        context.tell(f"compare: {cell.label} ({number} of {len(cells)})")
        walk_to_eval(own)
    found = [
        (cell, collect.run_row(own.layout.file("eval", *which)))
        for cell, own in cells
        for which in common.grid(own)
    ]
    with writing(folder / "compare.json", wait=context.wait, tell=context.tell):
        path = report.write(
            folder, report.compared(found, scope), context.params.section(ReportParams).decimals
        )
    context.tell(f"compare: wrote {path}, compare.md and compare.csv")
    return path


def show(path: Any, decimals: int) -> None:
    """Print a comparison as terminal tables on stdout, its conditions below."""
    from rich.table import Table

    from taamctl.report import comparison as report
    from taamctl.store.atomic_files import read_json

    result, out = read_json(path, "taamctl compare"), console.sheet()
    shown = [i for i, name in enumerate(report.COLUMNS) if name != "minus best" or out.width >= 140]
    table = Table(box=None, pad_edge=False)
    for name in (report.COLUMNS[i] for i in shown):
        table.add_column(
            name,
            justify="right" if "%" in name or name in ("rank", "minus best") else "left",
            no_wrap=name != "verdict",
        )
    for row in (m for d in result["datasets"] for m in d["methods"]):
        table.add_row(*(report.cells(row, decimals)[i] for i in shown))
    out.print(table)
    if overall := report.overall_cells(result):
        ranks = Table("method", "mean rank", "blocks", box=None, pad_edge=False)
        for line in overall:
            ranks.add_row(*line)
        out.print()
        out.print(ranks)
    for condition in result["conditions"]:
        out.print(condition, style="dim", soft_wrap=not out.is_terminal)
