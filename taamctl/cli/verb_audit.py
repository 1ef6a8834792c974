"""`taamctl audit`."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from typer import Option

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import Grid, Quiet, RawSettings, Writing
from taamctl.params.run_params import RunParams


def command(
    *,
    grid: Grid,
    settings: RawSettings,
    as_json: Annotated[bool, Option("--json", help="Print the list of checks as JSON.")] = False,
    bank: Annotated[
        bool,
        Option(
            "--bank", help="Look at a bank of each method too: taught, updated and made to forget."
        ),
    ] = False,
    stream: Annotated[
        bool, Option("--stream", help="Look at a replay of each method too, as `taamctl stream`.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Prove that training sees training nodes only, on your own data and methods.

    Exit 1 where it does not, with the culprit.

    Looks into split.h5 and features.h5 of the outputs (and makes them where they are missing). Then
    perturbs, one after the other, the features of all other nodes, the edges that touch them, and
    the val and test labels, and trains anew, each time in a process of its own that predicts val
    and test first: train.h5 has to stay the same in every byte. That is three trainings of every
    run, and one more where train.h5 with these parameters is not there; --set train.epochs=2 makes
    them short, and proves it of two epochs.

    With --bank each method is put into a bank too, which is taught, updated and made to forget,
    four times. Its sums, models and router have to stay the same in every number.

    With --stream each is replayed in time, four times: what comes later may change no answer.
    """
    from taamctl.audit.audit import audit
    from taamctl.pipeline.walk import runs
    from taamctl.stages import train

    context = make_context(grid, settings, Writing(quiet=quiet), check_methods=True)
    train.check(context)
    settings.outputs.mkdir(parents=True, exist_ok=True)
    found = []
    for dataset in context.params.section(RunParams).datasets:
        mine = [(method, seed) for name, method, seed in runs(context) if name == dataset]
        for check in audit(context, dataset, mine, banks=bank, streams=stream):
            found.append(
                {
                    "dataset": dataset,
                    "check": check.check,
                    "subject": check.subject,
                    "verdict": check.verdict,
                    "detail": check.detail,
                }
            )
    _show(found, as_json=as_json)
    failed = sum(check["verdict"] == "failed" for check in found)
    if failed:
        say(f"{failed} of {len(found)} checks failed")
        raise typer.Exit(1)


def _show(found: list[dict[str, str]], *, as_json: bool) -> None:
    """Print the checks."""
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        print_table(
            [Column(name, fold=True) for name in ("check", "subject", "result")],
            [(c["check"], c["subject"], f"{c['verdict']}: {c['detail']}") for c in found],
        )
