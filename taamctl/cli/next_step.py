"""The command that comes next: what was asked of one verb, asked of another."""

from __future__ import annotations

import shlex

from taamctl.cli.shared_options import OUTPUTS, Grid, Settings


def command(verb: str, grid: Grid, settings: Settings) -> str:
    """Return the command line of another verb for the same runs, parameters and folder."""
    words = ["taamctl", verb]
    for option, values in (
        ("--dataset", grid.datasets),
        ("--method", grid.methods),
        ("--seed", grid.seeds),
        ("--set", settings.overrides),
    ):
        words += [word for value in values or () for word in (option, str(value))]
    if settings.params is not None:
        words += ["--params", str(settings.params)]
    if settings.outputs != OUTPUTS:
        words += ["--outputs", str(settings.outputs)]
    return shlex.join(words)
