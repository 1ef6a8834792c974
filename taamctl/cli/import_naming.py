"""Options on what an imported graph becomes, and on tables beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

HERE = Path("data")


@dataclass(frozen=True)
class Naming:
    """What the graph becomes, and the format that it has."""

    name: Annotated[
        str,
        Option(
            "--name",
            help="Name of the data set: lower-case letters, digits, _.",
            show_default=False,
        ),
    ]
    kind: Annotated[
        str,
        Option(
            "--format",
            help="One of: table, npz, mtx, svmlight, graphml, json, musae, gexf, gml, pajek, mat, "
            "dgl, pyg, ogb, planetoid, h5ad, sqlite, duckdb.",
        ),
    ] = ""
    into: Annotated[
        Path, Option("--into", help="Folder to write to; names are looked up in ./data.")
    ] = HERE


@dataclass(frozen=True)
class Tables:
    """Further tables on a graph."""

    tasks: Annotated[Path | None, Option("--tasks", help="Table: class,task.")] = None
    split: Annotated[Path | None, Option("--split", help="Table: id,part.")] = None
    context: Annotated[
        str,
        Option(
            "--context",
            metavar="NAME|FILE",
            help="An imported graph, to whose nodes edges may lead; predict uses them.",
        ),
    ] = ""
    classes: Annotated[
        Path | None, Option("--class-names", help="Table of the classes that labels number.")
    ] = None
