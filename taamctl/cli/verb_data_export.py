"""`taamctl data export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from taamctl.cli.common import make_context
from taamctl.cli.console import say
from taamctl.cli.shared_options import DatasetName, Grid, Overwrite, RawSettings, Writing

if TYPE_CHECKING:
    from taamctl.core.data_set import DataSet


def command(
    *,
    name: DatasetName,
    kind: Annotated[
        str,
        Option(
            "--format",
            metavar="graphml|csv|parquet|npz|pyg|dgl|h5ad",
            help="What the files are.",
        ),
    ],
    settings: RawSettings,
    out: Annotated[
        Path | None,
        Option("--out", help="File, or a folder that is there. Default: NAME in this folder."),
    ] = None,
    force: Overwrite = False,
) -> None:
    """Give a graph back as files that other programmes read.

    Prints the files. Says on stderr what they do not hold, and the command that reads them back:
    nodes, edges, features, classes, tasks, split, time and names as they were.
    """
    from taamctl.core.data_set import data_set
    from taamctl.exporting import export_graph

    context = make_context(Grid([name]), settings, Writing())
    source = data_set(name)
    own = context.params.plugin("datasets", name, source.meta.params)
    graph = source.load(context.data_root, own)
    made = export_graph.export(graph, kind, out, about=_about(source), overwrite=force)
    for note in made.notes:
        say(note)
    for path in made.paths:
        typer.echo(str(path))
    say(f"read it back: {made.command}")


def _about(source: DataSet) -> dict[str, object]:
    """Return what a graph's record says of it beside its arrays."""
    meta = source.meta
    facts = {"licence": meta.licence, "citation": meta.citation, "homepage": meta.homepage}
    stated = {key: text for key, text in facts.items() if text and text != "not stated"}
    return {"directed": meta.directed, **stated}
