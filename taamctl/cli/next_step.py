"""The command that comes next: what was asked of one verb, asked of another."""

from __future__ import annotations

import shlex
from pathlib import Path

from taamctl.cli.answering import Answering
from taamctl.cli.one_graph import OneGraph
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


def of_data(name: str, data_root: Path | None) -> str:
    """Return the command line that runs a data set whose raw files have come."""
    words = ["taamctl", "run", "--dataset", name]
    if data_root is not None:
        words += ["--data-root", str(data_root)]
    return shlex.join(words)


def of_answers(
    bank: Path, named: OneGraph, node: object, settings: Settings, answering: Answering
) -> str:
    """Return the command line that says why a node is answered as it is.

    Args:
        bank: its folder. named: the graph that was asked about. node: its name or number.
        settings: the parameters, and where raw files lie, of the same call.
        answering: how it was answered.
    """
    words = ["taamctl", "predict", "--bank", str(bank)]
    root = getattr(settings, "data_root", None)
    for option, value in (
        ("--graph", named.graph),
        ("--dataset", named.dataset),
        ("--context", named.context or None),
        ("--data-root", root),
        ("--params", settings.params),
        *(("--set", override) for override in settings.overrides or ()),
        *answering.told(),
    ):
        if value is not None:
            words += [option, str(value)]
    return shlex.join([*words, f"--explain={node}"])
