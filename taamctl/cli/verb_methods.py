"""`taamctl methods`: which methods there are, what each of them does, and how to begin a new
one.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated, TypedDict

import typer

from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import AsJson, Overwrite, ParamsFile
from taamctl.core import registry

PACKAGE = "taamctl.methods"
WIDTH = 100
NEEDS = {"x": "raw features", "edges": "edges"}
app = typer.Typer(help="List, describe and begin methods.", no_args_is_help=True)


class Parameter(TypedDict):
    """A parameter of a method; `range` is empty where there is none."""

    name: str
    value: object
    type: str
    range: str
    choices: list[object] | None
    doc: str


@app.command("list")
def list_methods(as_json: AsJson = False) -> None:
    """List the methods, those of other installed packages too: what each sees, needs and keeps."""
    from taamctl.testing.describe import summary

    rows = [summary(name) for name in registry.names(PACKAGE)]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    columns = [Column("name")]
    columns += [Column(n, wrap=True) for n in ("title", "family", "sees", "task ID", "needs")]
    columns.append(Column("memory", fold=True))
    keys = ["name", "title", "family", "sees", "task_id", "needs", "memory"]
    if any(row["from"] != "taamctl" for row in rows):
        columns.append(Column("from", fold=True))
        keys.append("from")
    lines = []
    for row in rows:
        shown = {**row, "needs": ", ".join(_needs(row["needs"], row["query_needs"])) or None}
        if row["broken"]:
            shown["memory"] = f"broken: {row['broken']}"
        lines.append(["-" if shown[key] is None else shown[key] for key in keys])
    print_table(columns, lines, gap=1)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(help="Method, as `taamctl methods list` names it.", show_default=False)
    ],
    params: ParamsFile = None,
    as_json: AsJson = False,
) -> None:
    """Describe one method: what it computes, its source, what it needs and keeps, and its
    parameters with their values.
    """
    from taamctl.params import plugin_params
    from taamctl.params.params_file import locate, read
    from taamctl.testing.describe import describe

    registry.require(PACKAGE, name)
    path, packaged = locate(params)
    tree = read(path)
    sections = tree.get("methods")
    where = str(path)
    if packaged:
        where = "the packaged params.yaml"
    if registry.is_outside(PACKAGE, name) and not (isinstance(sections, dict) and name in sections):
        where = f"DEFAULTS of {registry.origin(PACKAGE, name)}"
    plugin_params.complete(tree, "methods", name)
    facts = describe(name, (sections or {}).get(name), where)
    if as_json:
        typer.echo(json.dumps(facts, indent=1))
        return
    files = facts["files"][0]
    if len(facts["files"]) > 1:
        files = f"{len(facts['files'])} files, {files}, ..."
    typer.echo(f"{name}: {facts['title']}\n")
    typer.echo(f"{facts['specification']}\n")
    lines = {
        "source": facts["source"],
        "family": facts["family"],
        "sees": facts["sees"],
        "task ID": facts["task_id"],
        "needs": ", ".join(["H and labels", *_needs(facts["needs"], facts["query_needs"])]),
        "memory": facts["memory"],
        "routing": ", ".join(facts["routing"]),
        "scope": facts["scope"],
        "reading": facts["reading"] or "-",
        "independent": "yes" if facts["independent"] else "no",
        "from": facts["from"],
        "file": files,
    }
    for key, value in lines.items():
        typer.echo(f"{key:<12} {value}")
    if not facts["parameters"]:
        typer.echo("\nno parameters of its own")
        return
    typer.echo(f"\nparameters, section methods.{name}, values from {where}")
    width = max(len(parameter["name"]) for parameter in facts["parameters"])
    for parameter in facts["parameters"]:
        _show_parameter(parameter, width)


def _show_parameter(parameter: Parameter, width: int) -> None:
    allowed = ", ".join(filter(None, (parameter["type"], parameter["range"])))
    if parameter["choices"]:
        allowed = " | ".join(map(str, parameter["choices"]))
    typer.echo(f"  {parameter['name']:<{width}} = {json.dumps(parameter['value'])}  ({allowed})")
    typer.echo(textwrap.indent(textwrap.fill(parameter["doc"], WIDTH - 6), " " * 6))


def _needs(needs: list[str] | None, query_needs: list[str] | None) -> list[str]:
    found = []
    for need in needs or ():
        words = NEEDS.get(need, need)
        if need in (query_needs or ()):
            words += " (at test too)"
        found.append(words)
    return found


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
    force: Overwrite = False,
) -> None:
    """Write a small package with a method that works and its tests, and say what to do next.

    Prints the files.
    """
    from taamctl.testing import scaffold

    folder = into or Path(name)
    for path in scaffold.write(name, folder, overwrite=force):
        typer.echo(str(path))
    say(
        f"next: pip install -e {folder}\n"
        f"      pytest {folder}\n"
        f"      taamctl methods show {name}\n"
        f"      taamctl run --dataset synthetic --method {name} --method finetune"
    )
