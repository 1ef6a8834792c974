"""`taamctl data`: which data sets there are, what is known about them, and how to get them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from taamctl.cli import verb_data_doctor, verb_data_example, verb_data_import
from taamctl.cli.common import DataRoot
from taamctl.cli.console import ByteProgress, say, sheet
from taamctl.core import registry
from taamctl.core.data_set import PACKAGE, DataSet, data_set
from taamctl.core.errors import TaamctlError
from taamctl.runtime import raw_files

app = typer.Typer(help="List, describe, fetch and examine data sets.", no_args_is_help=True)
app.command("doctor")(verb_data_doctor.command)
app.command("example")(verb_data_example.command)
app.command("import")(verb_data_import.command)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[
    str, typer.Argument(help="Data set, as `taamctl data list` names it.", show_default=False)
]


@app.command("list")
def list_datasets(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """List the data sets: counts, tasks (at two classes each, or its own), licence, and where
    the raw files were found.
    """
    root = raw_files.data_root(data_root)
    rows = [summary(name, root) for name in registry.names(PACKAGE)]
    if as_json:
        return typer.echo(json.dumps(rows, indent=1))
    from rich.table import Table

    base = raw_files.resolve(root)
    say(f"data root: {base}")
    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("name", "nodes", "edges", "F", "C", "T"):
        table.add_column(column, justify="left" if column == "name" else "right", no_wrap=True)
    table.add_column("licence", overflow="fold", max_width=14)
    table.add_column("found", overflow="fold")
    for row in rows:
        counts = (_shown(row[key]) for key in ("nodes", "edges", "features", "classes", "tasks"))
        table.add_row(row["name"], *counts, row["licence"], row["found"].replace(f"{base}/", ""))
    sheet().print(table)


@app.command()
def info(name: Name, data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """Describe one data set: counts, node order, citation, files."""
    facts = describe(name, raw_files.data_root(data_root))
    if as_json:
        return typer.echo(json.dumps(facts, indent=1))
    for key, value in facts.items():
        lines = (
            [f"{f['name']}  {f['url']}" for f in value]
            if isinstance(value, list)
            else [_shown(value)]
        )
        for line in lines:
            typer.echo(f"{key:<14} {line}")


@app.command()
def fetch(name: Name, data_root: DataRoot = None) -> None:
    """Download the raw files of one data set; what is there already is kept. Prints the folder."""
    from taamctl.runtime import download

    source = data_set(name)
    meta = source.meta
    if not meta.files:
        return say(f"{name} is {_built_in(source)}: there is nothing to fetch")
    target = raw_files.resolve(raw_files.data_root(data_root)) / name
    download.fetch(meta.files, target, ByteProgress())
    typer.echo(str(target))


def summary(name: str, root: Path | None) -> dict[str, Any]:
    """Return one row of the list; -1 counts (a generated data set) become None.

    One that cannot be loaded is listed as broken.
    """
    try:
        source = data_set(name)
    except TaamctlError as error:
        empty = dict.fromkeys(("nodes", "edges", "features", "classes", "tasks"))
        return {"name": name, **empty, "licence": "-", "found": f"broken: {error.message}"}
    meta = source.meta
    tasks = source.tasks
    if tasks is None and meta.classes >= 0:
        tasks = meta.classes // 2
    return {
        "name": name,
        "nodes": _count(meta.nodes),
        "edges": _count(meta.edges),
        "features": _count(meta.features),
        "classes": _count(meta.classes),
        "tasks": tasks,
        "licence": meta.licence,
        "found": _found(source, root),
    }


def _count(value: int) -> int | None:
    """Return a count of META, which is -1 where the size of a generated graph is a parameter."""
    return None if value < 0 else value


def describe(name: str, root: Path | None) -> dict[str, Any]:
    """Return everything that META says about a data set, and where its raw files were found."""
    meta = data_set(name).meta
    return {
        **summary(name, root),
        "directed": meta.directed,
        "feature_norm": meta.feature_norm,
        "order": meta.order,
        "citation": meta.citation,
        "homepage": meta.homepage,
        "files": [{"name": f.name, "url": f.url, "sha256": f.sha256} for f in meta.files],
    }


def _found(source: DataSet, root: Path | None) -> str:
    if not source.meta.files:
        return _built_in(source)
    try:
        file = raw_files.find(root, source.layouts)
    except TaamctlError as error:
        return f"broken: {error.message}"
    return "missing" if file is None else str(file)


def _built_in(source: DataSet) -> str:
    if source.imported is not None:
        return str(source.imported)
    return "generated" if source.meta.nodes < 0 else "embedded"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
