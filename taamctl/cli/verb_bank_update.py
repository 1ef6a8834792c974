"""`taamctl bank update`: nodes that come."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from taamctl.cli import graph_memory
from taamctl.cli.console import say, teller
from taamctl.cli.one_graph import OneGraph, with_context
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import AsJson, DataRoot, MaxMemory, Overrides, ParamsFile, Quiet
from taamctl.cli.verb_bank_make import Folder, NoWait

if TYPE_CHECKING:
    from taamctl.bank.update import TaskUpdate


def update(
    *,
    folder: Folder,
    named: OneGraph,
    before: Annotated[
        Path | None,
        Option(
            "--before",
            help="Graph file as it was learned, where known nodes changed: features or edges.",
        ),
    ] = None,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    max_memory: MaxMemory = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add nodes of classes that the bank knows, with their edges.

    Sums are then those of all nodes at once, in whatever order they came. The bank has to be made
    with --set bank.sums=class. Prints the new files.
    """
    from taamctl.bank import graph_source
    from taamctl.bank import update as growing

    room = graph_memory.room_of(
        "the update with", folder, named, max_memory, params, overrides, wide=True, before=before
    )
    earlier = None
    if before is not None:
        earlier = graph_source.from_file(before)
    done = growing.update(
        folder,
        with_context(named, data_root, params, overrides),
        before=earlier,
        wait=not no_wait,
        progress=make_progress(quiet),
        tell=teller(quiet),
        room=room,
    )
    if as_json:
        typer.echo(json.dumps([asdict(task) for task in done], indent=1))
        return
    if not done:
        say("no node of a known class is new: nothing to do")
    for task in done:
        say(_in_words(task))
        typer.echo(str(folder / task.file))
    if done:
        teller(quiet)(f"next: taamctl bank verify {quote(str(folder))}")


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
        f"validation; {task.replaced:,} known ones have another row now"
    )
    if kept:
        line += f"; as before, since the graph lacks nodes of the task: {', '.join(kept)}"
    return line
