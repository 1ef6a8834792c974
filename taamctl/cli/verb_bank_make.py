"""`taamctl bank create` and `taamctl bank add-task`: make a bank, and teach it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from typer import Argument, Option

from taamctl.cli import graph_memory
from taamctl.cli.common import source_text
from taamctl.cli.console import say, teller
from taamctl.cli.one_graph import OneGraph, context_of, source_of
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import DataRoot, MaxMemory, Overrides, ParamsFile, Quiet
from taamctl.importing.options import listed

Folder = Annotated[Path, Argument(help="The bank's folder.", show_default=False)]
NoWait = Annotated[
    bool, Option("--no-wait", help="Give up where another process writes to the bank.")
]


def create(
    folder: Folder,
    method: Annotated[str, Option("--method", help="The method of every task.")] = "taam",
    seed: Annotated[int, Option("--seed", help="Seed of all draws.", min=0)] = 1,
    params: ParamsFile = None,
    overrides: Overrides = None,
) -> None:
    """Make an empty bank. It keeps the parameters that it is made with; the first task fixes how
    many features a node has.
    """
    from taamctl.bank import store
    from taamctl.bank.config import from_params
    from taamctl.core import registry
    from taamctl.params import params_file, plugin_params
    from taamctl.params import sections as parameters

    registry.require("taamctl.methods", method)
    path, _ = params_file.locate(params)
    tree = plugin_params.read(path, overrides or (), [method])
    classes = {"methods": {method: registry.method_params(method)}}
    checked = parameters.check(source_text(path, overrides), tree, classes)
    store.create(folder, from_params(checked, method, seed))
    say(f"made the bank {folder}; next: taamctl bank add-task {quote(str(folder))} --graph FILE")
    typer.echo(str(folder))


def add_task(
    *,
    folder: Folder,
    named: OneGraph,
    classes: Annotated[
        list[str] | None,
        Option(
            "--classes",
            metavar="A,B",
            help="Classes to learn; can be given again; a name with a comma stands in double "
            "quotes. Default: all new ones.",
        ),
    ] = None,
    task_per: Annotated[
        int | None,
        Option(
            "--task-per",
            help="Classes per task. Default: the graph's own tasks, else one task.",
            min=1,
        ),
    ] = None,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    max_memory: MaxMemory = None,
    no_wait: NoWait = False,
    quiet: Quiet = False,
) -> None:
    """Learn the classes of a labelled graph that the bank does not know.

    No earlier file changes; prints the new files.

    --params and --set only reach the data set's own section: how a bank learns was fixed when it
    was made.
    """
    from taamctl.bank.add import add

    room = graph_memory.room_of(
        "learning", folder, named, max_memory, params, overrides, per_task=task_per
    )
    learned = add(
        folder,
        source_of(named, data_root, params, overrides),
        classes=None if classes is None else listed(classes),
        per_task=task_per,
        context=context_of(named),
        wait=not no_wait,
        progress=make_progress(quiet),
        tell=teller(quiet),
        room=room,
    )
    for task in learned:
        typer.echo(str(folder / task.file))
    teller(quiet)(f"next: taamctl predict --bank {quote(str(folder))} --graph FILE")
