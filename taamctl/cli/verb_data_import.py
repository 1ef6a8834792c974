"""`taamctl data import`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from taamctl.cli import asking
from taamctl.cli.console import say
from taamctl.cli.import_naming import HERE, Naming, Tables
from taamctl.cli.import_options import Columns, Reading
from taamctl.cli.import_rules import About, Rules, Telling

if TYPE_CHECKING:
    from taamctl.importing.import_graph import Imported


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
    from taamctl.importing import import_graph, upgrade_graph

    reading.check()
    if telling.ask:
        asking.require_terminal()
    options = {**columns.named(), **vars(reading), **rules.named()}
    directed = options.pop("directed")
    bring_in = partial(
        import_graph.import_graph,
        naming.name,
        sources,
        naming.into,
        kind=naming.kind,
        tasks=tables.tasks,
        split=tables.split,
        context=upgrade_graph.file_if_given(tables.context),
        classes=tables.classes,
        directed=directed,
        about=vars(about),
        overwrite=force,
        write=not (telling.dry_run or telling.print_command),
    )
    made, asked = asking.until_clear(bring_in, options, telling.ask)
    _tell(made, telling, asked)
    if telling.print_command:
        typer.echo(made.command)
    elif telling.dry_run:
        say(f"nothing is written; without --dry-run: {made.path}")
    else:
        _written(made.path, naming)


def _tell(made: Imported, telling: Telling, asked: bool) -> None:
    """Say how the files were read."""
    from taamctl.importing import import_graph

    graph = made.graph
    for note in (*graph.notes, *import_graph.warnings(graph)):
        say(note)
    say(
        f"{graph.num_nodes:,} nodes, {graph.adjacency.nnz:,} edges, {graph.num_features:,} "
        f"features, {len(graph.class_names):,} classes"
    )
    if telling.verbose:
        say("\n".join(f"feature: {feature}" for feature in graph.feature_names))
    if asked and not telling.print_command:
        say(f"the same without a question: {made.command}")


def _written(path: Path, naming: Naming) -> None:
    """Print the file, and say what may be done with it."""
    typer.echo(str(path))
    if naming.into.resolve() == HERE.resolve():
        say(f"next: taamctl data doctor {naming.name}")
    else:
        say(f"{naming.name} is found by its name where it lies as data/{naming.name}.h5")
