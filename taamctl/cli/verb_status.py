"""`taamctl status`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table
from taamctl.cli.shared_options import Grid, JsonOnStdout, Profile, RawSettings, Writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taamctl.pipeline.status import Line
    from taamctl.runtime.job import Context


# as `dvc status` says it; --json has the states' own names
WORDS = {"fresh": "up to date", "stale": "changed"}
SHOWN = 4  # reasons of one artefact, and signs of a reason; --json has all
SIGNS = 90


def command(
    *,
    grid: Grid,
    profile: Profile = None,
    settings: RawSettings,
    as_json: JsonOnStdout = False,
) -> None:
    """Say what is up to date, changed or missing, why, and what `taamctl run` would do of it.

    Replays of `taamctl stream` that lie there are named too: done or interrupted. Exit code 0 in
    any case. The words are those of `dvc status`.
    """
    from taamctl.pipeline import stream_status

    quiet = Writing(quiet=True)
    context = make_context(grid, settings, quiet, check_methods=True, profile=profile)
    show(context, as_json=as_json, replays=stream_status.lines(context.layout.root))


def show(context: Context, *, as_json: bool, replays: Sequence[Line] = ()) -> None:
    """Print the state of everything that the `run` section names, and of replays."""
    from taamctl.pipeline import status

    found = status.lines(context)
    if as_json:
        print(json.dumps([asdict(line) for line in (*found, *replays)], indent=1))
        return
    columns = ("stage", "data set", "method", "seed", "state", "run would", "why")
    rows = []
    for line in (*found, *replays):
        seed = "" if line.seed is None else str(line.seed)
        why = "; ".join(_cut(reason) for reason in line.reasons[:SHOWN])
        if len(line.reasons) > SHOWN:
            why += f"; and {len(line.reasons) - SHOWN} more"
        which = (line.stage, line.dataset, line.method, seed)
        rows.append((*which, WORDS.get(line.state, line.state), line.would, why))
    makes = sum(line.would == "make" for line in found)
    checks = sum(line.would == "check" for line in found)
    notes = [f"{len(found)} artefacts; taamctl run would make {makes} and check {checks} again."]
    if not makes + checks:
        notes = [f"{len(found)} artefacts. Data and pipelines are up to date."]
    print_table([Column(name, wrap=name == "why") for name in columns], rows, notes=notes)


def _cut(reason: str) -> str:
    return reason if len(reason) <= SIGNS else f"{reason[:SIGNS]}..."
