"""`taamctl split`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taamctl.cli import common
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context


def command(
    datasets: common.Datasets = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Form tasks, split every class into train, val and test, and keep only the edges inside
    each part.
    """
    from taamctl.stages import split

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=force,
        no_wait=no_wait,
        quiet=quiet,
        datasets=datasets,
    )
    for dataset in context.params.section(RunParams).datasets:
        for line in show_account(split.run(context, dataset).path):
            context.tell(line)


def show_account(path: Path) -> Iterator[str]:
    """Yield lines on what a split kept and what it left out."""
    from taamctl.core.types import PARTS
    from taamctl.store.artefacts import Artefact

    with Artefact(path, "split") as split:
        account = json.loads(split.attribute("account"))
        table, counts = split.read("account/table"), split.read("classes/count")
        names, bounds, made_with = (
            split.read("classes/name"),
            split.read("stream/bounds"),
            split.params["split"],
        )
    nodes, kept = int(table[:, 0].sum()), int(table[:, 1].sum())
    yield (
        f"  {len(table) // 3} tasks, {len(names)} classes, {nodes:,} nodes; edges "
        f"{account['edges_stored']:,} stored, {account['edges_used']:,} directed entries used, "
        f"{kept:,} inside a part ({100 * kept / max(1, account['edges_used']):.1f} %)"
    )
    for p, part in enumerate(PARTS):
        n, e, _, isolated = table[p::3].sum(axis=0)
        yield (
            f"  {part:5s} {n:>9,} nodes  {e:>11,} edges  {isolated:>8,} isolated "
            f"({100 * isolated / max(1, n):.1f} %)"
        )
    worst = table[2::3, 3] / table[2::3, 0].clip(min=1)
    yield (
        f"  most isolated test graph: task {int(worst.argmax())}, {100 * worst.max():.1f} % of its "
        "nodes"
    )
    yield from _policies(account, made_with, bounds.tolist(), names.tolist())
    for part in (part for p, part in enumerate(PARTS) if not counts[:, p].any()):
        yield f"  warning: no class has a node in {part}: nothing is measured on it"
    for c, row in enumerate(counts):
        if empty := ", ".join(
            part for p, part in enumerate(PARTS) if row[p] == 0 and counts[:, p].any()
        ):
            yield (
                f"  warning: class {names[c]} has no node in: {empty}; it is left out of that "
                "part's means"
            )


def _policies(
    account: dict[str, Any], made_with: dict[str, Any], bounds: list[list[int]], names: list[str]
) -> Iterator[str]:
    """Yield what was done with small, leftover and unlabelled ones, and what the graph itself
    decided.
    """
    small = [d for d in account["dropped"] if not d["reason"].startswith("leftover")]
    for d in account["dropped"]:
        yield (
            f"  left out: class {d['name']} ({d['nodes']:,} nodes): "
            f"{d['reason']}{' (small_class: drop)' if d in small else ''}"
        )
    low, high = bounds[-1]
    size, policy = made_with["classes_per_task"], made_with["odd_class"]
    if "tasks" in account:
        yield (
            f"  tasks: as the graph states them, {', '.join(str(b - a) for a, b in bounds)} classes"
        )
    elif high - low > size:
        yield (
            f"  leftover: {', '.join(names[low + size :])} joined the last task (odd_class: "
            f"{policy})"
        )
    elif high - low < size:
        yield (
            f"  leftover: {', '.join(names[low:])} became a task of {high - low} (odd_class: "
            f"{policy})"
        )
    if "parts" in account:
        how = (
            "as the graph states them"
            if account["parts"] == "given"
            else "by time, the oldest nodes of a class for training"
        )
        lacking = "part" if account["parts"] == "given" else "time"
        yield f"  parts: {how}" + (
            f"; {account['left_out']:,} nodes without a {lacking} left out"
            if account["left_out"]
            else ""
        )
    if account["unlabelled"][0]:
        yield (f"  unlabelled nodes: {account['unlabelled'][0]:,}, {account['unlabelled'][1]}")


def refuse_fixed_parts(contexts: list[Context]) -> None:
    """Refuse several split seeds of a data set whose parts no seed draws: the same runs would count
    as many.

    Raises:
        TaamctlError: a data set has given parts, or parts by time.
    """
    from taamctl.stages import split
    from taamctl.store.artefacts import Artefact

    for context in contexts[:1]:
        for dataset in context.params.section(RunParams).datasets:
            with Artefact(split.run(context, dataset).path, "split") as made:
                fixed = json.loads(made.attribute("account")).get("parts")
            if fixed:
                raise TaamctlError(
                    f"the parts of {dataset} are {'given' if fixed == 'given' else 'by time'}: a "
                    "split seed changes nothing",
                    "leave --split out, or add --set split.parts=drawn",
                )
