"""`taamctl audit`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from taamctl.cli import common, console
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.audit.checks import Check


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the list of checks as JSON.")
    ] = False,
    quiet: common.Quiet = False,
) -> None:
    """Prove that training sees training nodes only, on your own data and methods.

    Exit 1 where it does not, with the culprit.

    Looks into split.h5 and features.h5 of the outputs (and makes them where they are missing). Then
    perturbs, one after the other, the features of all other nodes, the edges that touch them, and
    the val and test labels, and trains anew, each time in a process of its own that predicts val
    and test first: train.h5 has to stay the same in every byte. That is three trainings of every
    run, and one more where train.h5 with these parameters is not there; --set train.epochs=2 makes
    them short, and proves it of two epochs.
    """
    from taamctl.audit.audit import audit
    from taamctl.stages import train

    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=False,
        no_wait=False,
        quiet=quiet,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
        check_methods=True,
    )
    train.check(context)
    outputs.mkdir(parents=True, exist_ok=True)
    grid, found = common.grid(context), []
    for dataset in context.params.section(RunParams).datasets:
        found += [
            (dataset, check)
            for check in audit(context, dataset, [(m, s) for d, m, s in grid if d == dataset])
        ]
    if as_json:
        print(
            json.dumps(
                [
                    {
                        "dataset": d,
                        "check": c.check,
                        "subject": c.subject,
                        "verdict": c.verdict,
                        "detail": c.detail,
                    }
                    for d, c in found
                ],
                indent=1,
            )
        )
    else:
        _show([c for _, c in found])
    failed = sum(c.verdict == "failed" for _, c in found)
    if failed:
        console.say(f"{failed} of {len(found)} checks failed")
        raise typer.Exit(1)


def _show(found: list[Check]) -> None:
    from rich.table import Table

    out = console.sheet()
    table = Table(box=None, pad_edge=False)
    for name in ("check", "subject", "result"):
        table.add_column(name, overflow="fold")
    for c in found:
        table.add_row(c.check, c.subject, f"{c.verdict}: {c.detail}")
    out.print(table)
