"""`taamctl bank forget`: nodes that go."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from typer import Option

from taamctl.cli import graph_memory
from taamctl.cli.console import teller
from taamctl.cli.node_list import node_list
from taamctl.cli.one_graph import OneGraph, with_context
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import DataRoot, MaxMemory, Overrides, ParamsFile, Quiet
from taamctl.cli.verb_bank_make import Folder, NoWait
from taamctl.core.plain_values import Plain


def forget(
    *,
    folder: Folder,
    nodes: Annotated[
        Path,
        Option(
            "--nodes",
            metavar="FILE",
            help="Names of the nodes to forget, one per line.",
            show_default=False,
        ),
    ],
    named: OneGraph,
    purge: Annotated[
        bool,
        Option(
            "--purge",
            help="Take away models, prototypes and thresholds for which the graph lacks nodes.",
        ),
    ] = False,
    statement: Annotated[
        Path | None,
        Option("--statement", help="JSON file for the statement, whose name is then printed."),
    ] = None,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    max_memory: MaxMemory = None,
    no_wait: NoWait = False,
    quiet: Quiet = False,
) -> None:
    """Forget nodes: the bank is then as if it had never seen them. All of them or none.

    The graph gives their rows and their neighbours' again. Files of earlier generations that held
    them are deleted. Prints a statement of what was done, as JSON. The bank has to be made with
    --set bank.sums=class.
    """
    from taamctl.bank import forget as forgetting
    from taamctl.bank import statement as stating

    room = graph_memory.room_of(
        "forgetting with", folder, named, max_memory, params, overrides, wide=True
    )
    done = forgetting.forget(
        folder,
        with_context(named, data_root, params, overrides),
        node_list(nodes),
        purge=purge,
        wait=not no_wait,
        progress=make_progress(quiet),
        tell=teller(quiet),
        room=room,
    )
    _show(folder, stating.statement(folder, done), statement, quiet=quiet)


def _show(folder: Path, said: dict[str, Plain], file: Path | None, *, quiet: bool) -> None:
    """Print a statement, or write it and print the name of its file."""
    from taamctl.store import atomic_files

    if file is None:
        typer.echo(json.dumps(said, indent=1))
        return
    atomic_files.write_json(file, said)
    typer.echo(str(file))
    teller(quiet)(f"next: taamctl bank verify {quote(str(folder))}")
