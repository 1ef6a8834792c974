"""`taamctl data import`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taamctl.cli.console import say
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from typer.models import OptionInfo

HERE = Path("data")
PANEL = "Columns, attributes or keys; what is not named is guessed"


def _column(flag: str, what: str) -> OptionInfo:
    option: OptionInfo = typer.Option(flag, metavar="COLUMN", help=what, rich_help_panel=PANEL)
    return option


@dataclass(frozen=True)
class Columns:
    """Which column, attribute or key of the files means what."""

    id: Annotated[str, _column("--id", "Names of the nodes.")] = ""
    label: Annotated[str, _column("--label", "Classes.")] = ""
    features: Annotated[
        list[str] | None,
        _column("--features", "Features: commas, patterns such as word_*. Default: all others."),
    ] = None
    ignore: Annotated[
        list[str] | None, _column("--ignore", "What is not read: commas, patterns.")
    ] = None
    source: Annotated[str, _column("--source", "Where an edge begins.")] = ""
    target: Annotated[str, _column("--target", "Where an edge ends.")] = ""
    time: Annotated[str, _column("--time", "When a node appeared: numbers or ISO dates.")] = ""
    part: Annotated[str, _column("--part", "train, val or test.")] = ""
    task: Annotated[str, _column("--task", "The task that a node's class arrives with.")] = ""


@dataclass(frozen=True)
class Reading:
    """How the files are read."""

    delimiter: Annotated[
        str, typer.Option("--delimiter", help="What stands between cells. Default: guessed.")
    ] = ""
    ends: Annotated[
        str,
        typer.Option(
            "--ends",
            help="What edges join: rows (numbers from 0) or ids. Default: told from the values.",
        ),
    ] = ""
    nan: Annotated[
        str,
        typer.Option("--nan", help="refuse features that are not finite, or take them as zero."),
    ] = "refuse"
    directed: Annotated[
        bool,
        typer.Option(
            "--directed", help="The edges have a direction that split.symmetrize may keep."
        ),
    ] = False
    add_inverse: Annotated[
        bool, typer.Option("--add-inverse", help="ogb: every edge counts backwards too.")
    ] = False

    def check(self) -> None:
        """Refuse what is not one of the values there are."""
        if self.nan not in ("refuse", "zero"):
            raise TaamctlError(
                f"--nan {self.nan}: neither refuse nor zero",
                "zero takes features that are not finite as 0",
            )
        if self.ends not in ("", "rows", "ids"):
            raise TaamctlError(
                f"--ends {self.ends}: neither rows nor ids",
                "rows: edges count the rows from 0; ids: they name nodes",
            )


@dataclass(frozen=True)
class About:
    """What `taamctl data info` shows of a graph."""

    licence: Annotated[str, typer.Option("--licence", help="Shown by data info.")] = ""
    citation: Annotated[str, typer.Option("--citation", help="Shown by data info.")] = ""
    homepage: Annotated[str, typer.Option("--homepage", help="Shown by data info.")] = ""


def command(
    *,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="A node table and an edge list in any order, one file that "
            "holds a whole graph, or a folder called raw.",
        ),
    ],
    name: Annotated[
        str,
        typer.Option(
            "--name",
            help="Name of the data set: lower-case letters, digits, _.",
            show_default=False,
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--format", help="table, npz, mtx, graphml, dgl, pyg or ogb. Default: guessed."
        ),
    ] = "",
    into: Annotated[
        Path, typer.Option("--into", help="Folder to write to; names are looked up in ./data.")
    ] = HERE,
    columns: Columns,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="Table of classes and tasks.")
    ] = None,
    split: Annotated[
        Path | None, typer.Option("--split", help="Table of node ids and parts.")
    ] = None,
    reading: Reading,
    about: About,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Bring your own graph in as data/NAME.h5; after that NAME is a data set like any other.

    Prints the file.

    Says on stderr everything that was changed on the way. Labels: text, whole numbers, one-hot;
    empty, NaN and -1: unlabelled.
    """
    from taamctl.importing import import_graph

    reading.check()
    options = {**vars(columns), **vars(reading)}
    directed = options.pop("directed")
    for key in ("features", "ignore"):
        options[key] = _listed(options[key])
    path, graph = import_graph.import_graph(
        name,
        sources,
        into,
        options=options,
        kind=kind,
        tasks=tasks,
        split=split,
        directed=directed,
        about=vars(about),
        overwrite=force,
    )
    for note in graph.notes:
        say(note)
    say(
        f"{graph.num_nodes:,} nodes, {graph.adjacency.nnz:,} edges, {graph.num_features:,} "
        f"features, {len(graph.class_names):,} classes"
    )
    typer.echo(str(path))
    if into.resolve() == HERE.resolve():
        say(f"next: taamctl data doctor {name}")
    else:
        say(f"{name} is found by its name where it lies as data/{name}.h5")


def _listed(values: list[str] | None) -> tuple[str, ...]:
    cells = (cell.strip() for value in values or () for cell in value.split(","))
    return tuple(filter(None, cells))
