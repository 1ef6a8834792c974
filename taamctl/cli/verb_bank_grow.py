"""`taamctl bank update` and `taamctl bank forget`: nodes that come and nodes that go."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from taamctl.cli.console import say, teller
from taamctl.cli.node_list import node_list
from taamctl.cli.one_graph import OneGraph, context_of, source_of
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import AsJson, DataRoot, Overrides, ParamsFile, Quiet
from taamctl.cli.verb_bank_make import Folder, NoWait

if TYPE_CHECKING:
    from taamctl.bank.update import TaskUpdate


def update(
    *,
    folder: Folder,
    named: OneGraph,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add nodes of classes that the bank knows, with their edges.

    Sums are then those of all nodes at once, in whatever order they came. The bank has to be made
    with --set bank.sums=class. Prints the new files.
    """
    from taamctl.bank import update as growing

    done = growing.update(
        folder,
        source_of(named, data_root, params, overrides),
        context=context_of(named),
        wait=not no_wait,
        progress=make_progress(quiet),
        tell=teller(quiet),
    )
    if as_json:
        typer.echo(json.dumps([asdict(task) for task in done], indent=1))
        return
    if not done:
        say("no node of a known class is new: nothing to do")
    for task in done:
        say(_in_words(task))
        typer.echo(str(folder / task.file))


def _in_words(task: TaskUpdate) -> str:
    kept = [
        what
        for what, new in (
            ("own model", task.model),
            ("thresholds", task.thresholds),
            ("prototype", task.prototype),
        )
        if not new
    ]
    line = (
        f"task {task.number}: {task.train + task.val:,} new nodes, {task.val:,} of them for "
        f"validation; {task.replaced:,} known ones have new neighbours"
    )
    if kept:
        line += f"; as before, since the graph lacks nodes of the task: {', '.join(kept)}"
    return line


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
        Path | None, Option("--statement", help="JSON file for what is printed.")
    ] = None,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
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
    from taamctl.store import atomic_files

    done = forgetting.forget(
        folder,
        source_of(named, data_root, params, overrides),
        node_list(nodes),
        context=context_of(named),
        purge=purge,
        wait=not no_wait,
        progress=make_progress(quiet),
        tell=teller(quiet),
    )
    said = stating.statement(folder, done)
    if statement is not None:
        atomic_files.write_json(statement, said)
    typer.echo(json.dumps(said, indent=1))
