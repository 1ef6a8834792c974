"""Run methods over class orders and splits, each pair of them a tree of artefacts of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams
from taamctl.params.split_params import SplitParams
from taamctl.pipeline import split_account, walk
from taamctl.report import comparison, comparison_text
from taamctl.report.comparison import Cell
from taamctl.report.report_rows import run_row
from taamctl.runtime.job import Context
from taamctl.store.artefacts import Artefact
from taamctl.store.lock import writing
from taamctl.store.split_kind import SPLIT

if TYPE_CHECKING:
    from distributed import Client

PERMUTED = "seeded_permutation"
Cells = list[tuple[Cell, Context]]


def plan(context: Context, orders: Sequence[str] | None, splits: Sequence[int] | None) -> Cells:
    """Return every (class order, split), each with a context of its own.

    Args:
        orders: `natural`, or seeds of permutations. None: that of the split section.
        splits: seeds. None: that of the split section.

    Raises:
        TaamctlError: fewer than two methods, or a seed that the split section refuses.
    """
    methods = context.params.section(RunParams).methods
    if len(methods) < 2:
        raise TaamctlError(
            f"a comparison needs two methods, there is one: {', '.join(methods)}",
            "name another one with --method",
        )
    usual = context.params.section(SplitParams)
    if not orders:
        orders = [usual.class_order]
        if usual.class_order == PERMUTED:
            orders = [str(usual.order_seed)]
    found = []
    for order in dict.fromkeys(map(_plain, orders)):
        for split in dict.fromkeys(splits or [usual.seed]):
            cell = Cell(order, split)
            found.append((cell, _own(context, cell)))
    return found


def _plain(order: str) -> str:
    """Return an order as it is named everywhere: a seed without leading zeros."""
    if order.isdecimal():
        return str(int(order))
    return order


def _own(context: Context, cell: Cell) -> Context:
    change: dict[str, object] = {"class_order": cell.order}
    if cell.order.isdecimal():
        change = {"class_order": PERMUTED, "order_seed": int(cell.order)}
    tree = context.params.tree
    params = replace(
        context.params,
        source=f"{context.params.source} ({cell.label})",
        tree={**tree, "split": {**tree["split"], **change, "seed": cell.split}},
    )
    params.section(SplitParams)  # a seed may be too large
    root = context.layout.root
    layout = replace(context.layout, root=root / "compare" / cell.folder, home=root)
    return replace(context, params=params, layout=layout)


def run(context: Context, cells: Cells, scope: str | None, client: Client | None = None) -> Path:
    """Run every cell, reusing what is there, write the comparison and return its path.

    Args:
        scope: the logit scope of all methods; `own`: each in its own; None: the one that they
            share, else that of all classes seen.
        client: of the Dask cluster that does the work; None: this process.
    """
    from taamctl.stages import train

    section = context.params.section(RunParams)
    folder = context.layout.root / "compare"
    splits = {cell.split for cell, _ in cells}
    counts = {
        "class order": len({cell.order for cell, _ in cells}),
        "split": len(splits),
        "data set": len(section.datasets),
        "method": len(section.methods),
        "seed": len(section.seeds),
    }
    product = " x ".join(f"{n} {name}{'s' * (n > 1)}" for name, n in counts.items())
    context.tell(f"compare: {len(cells) * len(walk.runs(context))} runs: {product}, below {folder}")
    note = comparison.too_few(len(cells), len(section.methods), len(section.seeds))
    if note:
        context.tell(f"note: {note}")
    train.check(context)
    whole = [(own, dataset) for _, own in cells for dataset in section.datasets]
    first = len(section.datasets) * (len(splits) > 1)
    walk.divide(whole[:first], client)
    if first:
        _refuse_fixed_parts(cells[0][1])
    walk.divide(whole[first:], client)
    for number, (cell, own) in enumerate(cells, 1):
        context.tell(f"compare: {cell.label} ({number} of {len(cells)})")
        walk.after_split(own, client)
    found = [
        (cell, run_row(own.layout.file("eval", *which)))
        for cell, own in cells
        for which in walk.runs(own)
    ]
    result = comparison.compared(found, scope)
    with writing(folder / "compare.json", wait=context.wait, tell=context.tell):
        path = comparison_text.write(folder, result, context.params.section(ReportParams).decimals)
    context.tell(f"compare: wrote {path}, compare.md and compare.csv")
    return path


def _refuse_fixed_parts(context: Context) -> None:
    """Refuse several split seeds of a data set whose parts no seed draws: the same runs would count
    as many.
    """
    for dataset in context.params.section(RunParams).datasets:
        with Artefact(context.layout.file("split", dataset), SPLIT) as artefact:
            fixed = split_account.of(artefact).get("parts")
        if fixed:
            rule = {"given": "given"}.get(fixed, "by time")
            raise TaamctlError(
                f"the parts of {dataset} are {rule}: a split seed changes nothing",
                "leave --split out, or add --set split.parts=drawn",
            )
