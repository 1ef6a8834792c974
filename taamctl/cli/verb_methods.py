"""`taamctl methods`: which methods there are, what each of them does, and how to begin a new
one.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer

from taamctl.cli.common import ParamsFile
from taamctl.cli.console import say, sheet
from taamctl.core import registry

app = typer.Typer(help="List, describe and begin methods.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[
    str, typer.Argument(help="Method, as `taamctl methods list` names it.", show_default=False)
]
WIDTH = 100


@app.command("list")
def list_methods(as_json: AsJson = False) -> None:
    """List the methods, those of other installed packages too: what each sees, needs and keeps."""
    from taamctl.testing.describe import PACKAGE, summary

    rows = [summary(name) for name in registry.names(PACKAGE)]
    if as_json:
        return typer.echo(json.dumps(rows, indent=1))
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("name", "title", "family", "sees", "task ID", "needs"):
        table.add_column(column, no_wrap=column == "name")
    table.add_column("memory", overflow="fold")
    outside = any(row["from"] != "taamctl" for row in rows)
    if outside:
        table.add_column("from", overflow="fold")
    for row in rows:
        cells = [
            row["name"],
            *(
                "-" if row[key] is None else row[key]
                for key in ("title", "family", "sees", "task_id")
            ),
            _needs(row),
            f"broken: {row['broken']}" if row["broken"] else row["memory"],
        ]
        table.add_row(*cells, *([row["from"]] if outside else []))
    sheet().print(table)


@app.command()
def show(name: Name, params: ParamsFile = None, as_json: AsJson = False) -> None:
    """Describe one method: what it computes, its source, what it needs and keeps, and its
    parameters with their values.
    """
    from taamctl.params import plugin_params
    from taamctl.params.params_file import locate, read
    from taamctl.testing.describe import PACKAGE, describe

    registry.require(PACKAGE, name)
    path, packaged = locate(params)
    tree: Any = read(path)
    here = isinstance(tree.get("methods"), dict) and name in tree["methods"]
    plugin_params.complete(tree, "methods", name)
    where = (
        f"DEFAULTS of {registry.origin(PACKAGE, name)}"
        if registry.is_outside(PACKAGE, name) and not here
        else "the packaged params.yaml"
        if packaged
        else str(path)
    )
    facts = describe(name, (tree.get("methods") or {}).get(name), where)
    if as_json:
        return typer.echo(json.dumps(facts, indent=1))
    typer.echo(f"{name}: {facts['title']}\n")
    typer.echo(facts["specification"])
    lines = {
        "source": facts["source"],
        "family": facts["family"],
        "sees": facts["sees"],
        "task ID": facts["task_id"],
        "needs": f"H and labels{', ' if facts['needs'] else ''}{_needs(facts, '')}",
        "memory": facts["memory"],
        "routing": f"{facts['routing'][0]}, {facts['routing'][1]}",
        "scope": facts["scope"],
        "reading": facts["reading"] or "-",
        "independent": "yes" if facts["independent"] else "no",
        "from": facts["from"],
        "file": facts["files"][0]
        if len(facts["files"]) == 1
        else f"{len(facts['files'])} files, {facts['files'][0]}, ...",
    }
    typer.echo("\n" + "\n".join(f"{key:<12} {value}" for key, value in lines.items()))
    _show_parameters(name, facts)


def _show_parameters(name: str, facts: dict[str, Any]) -> None:
    if not facts["parameters"]:
        return typer.echo("\nno parameters of its own")
    typer.echo(f"\nparameters, section methods.{name}, values from {facts['values_from']}")
    width = max(len(p["name"]) for p in facts["parameters"])
    for p in facts["parameters"]:
        allowed = (
            " | ".join(map(str, p["choices"]))
            if p["choices"]
            else ", ".join(filter(None, (p["type"], p["range"])))
        )
        typer.echo(f"  {p['name']:<{width}} = {json.dumps(p['value'])}  ({allowed})")
        typer.echo(
            textwrap.fill(p["doc"], WIDTH, initial_indent="      ", subsequent_indent="      ")
        )


def _needs(row: dict[str, Any], nothing: str = "-") -> str:
    words = {"x": "raw features", "edges": "edges"}
    return (
        ", ".join(
            words.get(n, n) + (" (at test too)" if n in (row["query_needs"] or ()) else "")
            for n in row["needs"] or ()
        )
        or nothing
    )


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(
            help="The new method's name: lower-case, such as my_method.", show_default=False
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option("--into", help="Folder to write. Default: one called as the method."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Write a small package with a method that works and its tests, and say what to do next.

    Prints the files.
    """
    from taamctl.testing import scaffold

    folder = Path(name) if into is None else into
    for path in scaffold.write(name, folder, overwrite=force):
        typer.echo(str(path))
    say(
        f"next: pip install -e {folder}\n"
        f"      pytest {folder}\n"
        f"      taamctl methods show {name}\n"
        f"      taamctl run --dataset synthetic --method {name} --method finetune"
    )
