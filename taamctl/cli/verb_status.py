"""`taamctl status`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from taamctl.cli import also_there, next_step, reason_words
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import Grid, JsonOnStdout, Profile, RawSettings, Writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from taamctl.pipeline.status import Line
    from taamctl.runtime.job import Context


# as `dvc status` says it; --json has the states' own names
WORDS = {"fresh": "up to date", "stale": "changed"}
SHOWN = 4  # reasons of one artefact; --json has all


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
    replays = stream_status.lines(context.layout.root)
    outdated = show(context, as_json=as_json, replays=replays)
    if as_json:
        return
    if not any(vars(grid).values()):
        for line in also_there.lines(context):
            print(line)
    if outdated:
        say(f"next: {next_step.command('run', grid, settings)}")


def show(context: Context, *, as_json: bool, replays: Sequence[Line] = ()) -> int:
    """Print the state of everything that the `run` section names, and of replays; return how much
    of the former is not up to date.
    """
    from taamctl.pipeline import status

    found = status.lines(context)
    if as_json:
        print(json.dumps([asdict(line) for line in (*found, *replays)], indent=1))
        return sum(line.would != "reuse" for line in found)
    columns = ("stage", "data set", "method", "seed", "state", "run would", "why")
    rows = []
    for line in (*found, *replays):
        seed = "" if line.seed is None else str(line.seed)
        reasons = reason_words.told(line.stage, line.reasons)
        why = "; ".join(reasons[:SHOWN])
        if len(reasons) > SHOWN:
            why += f"; and {len(reasons) - SHOWN} more"
        which = (line.stage, line.dataset, line.method, seed)
        rows.append((*which, WORDS.get(line.state, line.state), line.would, why))
    makes = sum(line.would == "make" for line in found)
    checks = sum(line.would == "check" for line in found)
    notes = [f"{len(found)} artefacts; taamctl run would make {makes} and check {checks} again."]
    if not makes + checks:
        notes = [f"{len(found)} artefacts. Data and pipelines are up to date."]
    print_table([Column(n, wrap=n == "why") for n in columns], rows, keys=4, notes=notes)
    return makes + checks
