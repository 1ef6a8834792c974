"""`taamctl data`: which data sets there are, what is known about them, and how to get them."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from taamctl.cli import (
    next_step,
    verb_data_doctor,
    verb_data_example,
    verb_data_export,
    verb_data_import,
    verb_data_upgrade,
)
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.flat_options import flat
from taamctl.cli.progress_bars import ByteProgress
from taamctl.cli.shared_options import AsJson, DataRoot, DatasetName
from taamctl.core import registry
from taamctl.core.data_set import PACKAGE, DataSet, data_set
from taamctl.core.errors import TaamctlError
from taamctl.runtime import raw_files

COUNTS = ("nodes", "edges", "features", "classes")
Facts = dict[str, object]
app = typer.Typer(no_args_is_help=True)
app.command("doctor")(flat(verb_data_doctor.command))
app.command("example")(verb_data_example.command)
app.command("export")(flat(verb_data_export.command))
app.command("import")(flat(verb_data_import.command))
app.command("upgrade")(verb_data_upgrade.command)


@app.command("list")
def list_datasets(data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """List the data sets: counts, tasks (at two classes each, or its own), licence, and where
    the raw files were found.
    """
    root = raw_files.data_root(data_root)
    rows = [summary(name, root) for name in registry.names(PACKAGE)]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    base = raw_files.resolve(root)
    say(f"data root: {base}")
    counts = [Column(name, right=True) for name in ("nodes", "edges", "F", "C", "T")]
    columns = [Column("name"), *counts, Column("licence", fold=True), Column("found", fold=True)]
    lines = [[_shown(value).replace(f"{base}/", "") for value in row.values()] for row in rows]
    print_table(columns, lines, gap=1)


@app.command()
def info(name: DatasetName, data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """Describe one data set: counts, node order, citation, files."""
    meta = data_set(name).meta
    files = [{"name": f.name, "url": f.url, "sha256": f.sha256} for f in meta.files]
    facts: Facts = summary(name, raw_files.data_root(data_root))
    for key in ("directed", "feature_norm", "order", "citation", "homepage"):
        facts[key] = getattr(meta, key)
    if as_json:
        typer.echo(json.dumps({**facts, "files": files}, indent=1))
        return
    for key, value in facts.items():
        typer.echo(f"{key:<14} {_shown(value)}")
    for file in files:
        typer.echo(f"{'files':<14} {file['name']}  {file['url']}")


@app.command()
def fetch(name: DatasetName, data_root: DataRoot = None) -> None:
    """Download the raw files of one data set; what is there already is kept. Prints the folder."""
    source = data_set(name)
    if not source.meta.files:
        say(f"{name} is {_built_in(source)}: there is nothing to fetch")
        return
    from taamctl.runtime import download

    target = raw_files.resolve(raw_files.data_root(data_root)) / name
    download.fetch(source.meta.files, target, ByteProgress())
    typer.echo(str(target))
    say(f"next: {next_step.of_data(name, data_root)}")


def summary(name: str, root: Path | None) -> Facts:
    """Return one row of the list; counts of a generated data set are None, and one that cannot be
    loaded is listed as broken.
    """
    row: Facts = {"name": name, **dict.fromkeys((*COUNTS, "tasks"))}
    try:
        source = data_set(name)
    except TaamctlError as error:
        return {**row, "licence": "-", "found": f"broken: {error.message}"}
    counts = {key: getattr(source.meta, key) for key in COUNTS}
    row |= {key: count for key, count in counts.items() if count >= 0}
    row["tasks"] = source.tasks
    if not row["tasks"] and counts["classes"] >= 0:
        row["tasks"] = counts["classes"] // 2
    return {**row, "licence": source.meta.licence, "found": _found(source, root)}


def _found(source: DataSet, root: Path | None) -> str:
    if not source.meta.files:
        return _built_in(source)
    try:
        return str(raw_files.find(root, source.layouts) or "missing")
    except TaamctlError as error:
        return f"broken: {error.message}"


def _built_in(source: DataSet) -> str:
    if source.imported is not None:
        return str(source.imported)
    if source.meta.nodes < 0:
        return "generated"
    return "embedded"


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
