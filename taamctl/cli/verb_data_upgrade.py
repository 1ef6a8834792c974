"""`taamctl data upgrade`."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from typer import Argument

from taamctl.cli.console import say
from taamctl.cli.shared_options import AsJson, NoWait


def command(
    graph: Annotated[
        str,
        Argument(
            metavar="NAME|FILE",
            help="A graph of your own: its name, or its file.",
            show_default=False,
        ),
    ],
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Rewrite a graph of your own in the present version: the same arrays, whole or not at all.

    It is read without that too. Prints the file.
    """
    from taamctl.importing import upgrade_graph
    from taamctl.store.graph_kind import GRAPH

    path = upgrade_graph.file_of(graph)
    before = upgrade_graph.upgrade(path, wait=not no_wait, tell=say)
    now = GRAPH.version
    if as_json:
        facts = {"file": str(path), "from": now if before is None else before, "to": now}
        typer.echo(json.dumps({**facts, "changed": before is not None}, indent=1))
        return
    if before is None:
        say(f"{path} is of version {now} already: nothing to do")
    else:
        say(f"{path}: version {before} to {now}; no array changed")
    typer.echo(str(path))
