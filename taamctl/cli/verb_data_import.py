"""`taamctl data import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from taamctl.cli.console import say
from taamctl.cli.import_options import HERE, About, Columns, Naming, Reading, Tables
from taamctl.cli.import_rules import Rules, Telling


def command(
    *,
    sources: Annotated[
        list[Path],
        Argument(
            metavar="SOURCE",
            help="A node table and an edge list in any order, one file that "
            "holds a whole graph, or a folder called raw.",
        ),
    ],
    naming: Naming,
    columns: Columns,
    tables: Tables,
    reading: Reading,
    rules: Rules,
    telling: Telling,
    about: About,
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Bring your own graph in as data/NAME.h5; after that NAME is a data set like any other.

    Prints the file.

    Says on stderr everything that was changed on the way. Labels: text, whole numbers, one-hot;
    empty, NaN, -1 and such words as unknown: unlabelled.
    """
    from taamctl.importing import import_graph

    reading.check()
    options = {**columns.named(), **vars(reading), **rules.named()}
    directed = options.pop("directed")
    path, graph, again = import_graph.import_graph(
        naming.name,
        sources,
        naming.into,
        options=options,
        kind=naming.kind,
        tasks=tables.tasks,
        split=tables.split,
        classes=tables.classes,
        directed=directed,
        about=vars(about),
        overwrite=force,
        write=not (telling.dry_run or telling.print_command),
    )
    for note in (*graph.notes, *import_graph.warnings(graph)):
        say(note)
    say(
        f"{graph.num_nodes:,} nodes, {graph.adjacency.nnz:,} edges, {graph.num_features:,} "
        f"features, {len(graph.class_names):,} classes"
    )
    if telling.verbose:
        say("\n".join(f"feature: {feature}" for feature in graph.feature_names))
    if telling.print_command:
        typer.echo(again)
    elif telling.dry_run:
        say(f"nothing is written; without --dry-run: {path}")
    else:
        _written(path, naming)


def _written(path: Path, naming: Naming) -> None:
    """Print the file, and say what may be done with it."""
    typer.echo(str(path))
    if naming.into.resolve() == HERE.resolve():
        say(f"next: taamctl data doctor {naming.name}")
    else:
        say(f"{naming.name} is found by its name where it lies as data/{naming.name}.h5")
