"""`taamctl split`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from taamctl.cli import common


def command(
    datasets: common.Datasets = None,
    params: common.ParamsFile = None, overrides: common.Overrides = None, outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None, force: common.Force = False, no_wait: common.NoWait = False, quiet: common.Quiet = False,
) -> None:
    """Form tasks, split every class into train, val and test, and keep only the edges inside each part."""
    from taamctl.stages import split

    context = common.make_context(params=params, overrides=overrides, outputs=outputs, data_root=data_root, force=force, no_wait=no_wait,
                                  quiet=quiet, datasets=datasets)
    for dataset in context.params.section("run").datasets:
        for line in show_account(split.run(context, dataset).path):
            context.tell(line)


def show_account(path: Path) -> Iterator[str]:
    """Yield lines on what a split kept and what it left out."""
    from taamctl.core.types import PARTS
    from taamctl.runtime.artefacts import Artefact

    with Artefact(path, "split") as split:
        account = json.loads(split.attribute("account"))
        table, counts = split.read("account/table"), split.read("classes/count")
        names = split.read("classes/name")
    nodes, kept = int(table[:, 0].sum()), int(table[:, 1].sum())
    yield (f"  {len(table) // 3} tasks, {len(names)} classes, {nodes:,} nodes; edges {account['edges_stored']:,} stored, "
                f"{account['edges_used']:,} directed entries used, {kept:,} inside a part "
                f"({100 * kept / max(1, account['edges_used']):.1f} %)")
    for p, part in enumerate(PARTS):
        n, e, _, isolated = table[p::3].sum(axis=0)
        yield (f"  {part:5s} {n:>9,} nodes  {e:>11,} edges  {isolated:>8,} isolated ({100 * isolated / max(1, n):.1f} %)")
    worst = table[2::3, 3] / table[2::3, 0].clip(min=1)
    yield (f"  most isolated test graph: task {int(worst.argmax())}, {100 * worst.max():.1f} % of its nodes")
    for d in account["dropped"]:
        yield (f"  left out: class {d['name']} ({d['nodes']:,} nodes): {d['reason']}")
    if account["unlabelled"][0]:
        yield (f"  unlabelled nodes: {account['unlabelled'][0]:,}, {account['unlabelled'][1]}")
    for c, row in enumerate(counts):
        if (row == 0).any():
            empty = ", ".join(part for p, part in enumerate(PARTS) if row[p] == 0)
            yield (f"  warning: class {names[c]} has no node in: {empty}; it is left out of that part's means")
