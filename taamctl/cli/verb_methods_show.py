"""`taamctl methods show`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from taamctl.cli.name_completion import methods
from taamctl.cli.shared_options import AsJson, ParamsFile
from taamctl.core import registry

PACKAGE = "taamctl.methods"
WIDTH = 100
NEEDS = {"x": "raw features", "edges": "edges"}


def command(
    name: Annotated[
        str,
        Argument(
            help="Method, as `taamctl methods list` names it.",
            show_default=False,
            autocompletion=methods,
        ),
    ],
    params: ParamsFile = None,
    as_json: AsJson = False,
) -> None:
    """Describe one method: what it computes, its source, what it needs and keeps, and its
    parameters with their values.
    """
    from taamctl.testing.describe import describe

    registry.require(PACKAGE, name)
    facts = describe(name, *_section(name, params))
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
        "needs": ", ".join(["H and labels", *needs_of(facts["needs"], facts["query_needs"])]),
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
    typer.echo(f"\nparameters, section methods.{name}, values from {facts['values_from']}")
    width = max(len(parameter["name"]) for parameter in facts["parameters"])
    for parameter in facts["parameters"]:
        _show_parameter(parameter, width)


def _section(name: str, params: Path | None) -> tuple[object, str]:
    """Return the values of a method's parameters, and where they are from."""
    from taamctl.params import plugin_params
    from taamctl.params.params_file import locate, read

    path, packaged = locate(params)
    tree = read(path)
    sections = tree.get("methods")
    where = str(path)
    if packaged:
        where = "the packaged params.yaml"
    if registry.is_outside(PACKAGE, name) and not (isinstance(sections, dict) and name in sections):
        where = f"DEFAULTS of {registry.origin(PACKAGE, name)}"
    plugin_params.complete(tree, "methods", name)
    return (sections or {}).get(name), where


def _show_parameter(parameter: Mapping[str, Any], width: int) -> None:
    allowed = ", ".join(filter(None, (parameter["type"], parameter["range"])))
    if parameter["choices"]:
        allowed = " | ".join(map(str, parameter["choices"]))
    typer.echo(f"  {parameter['name']:<{width}} = {json.dumps(parameter['value'])}  ({allowed})")
    typer.echo(textwrap.indent(textwrap.fill(parameter["doc"], WIDTH - 6), " " * 6))


def needs_of(needs: list[str] | None, query_needs: list[str] | None) -> list[str]:
    """Return what a method reads beside H and labels, in words."""
    found = []
    for need in needs or ():
        words = NEEDS.get(need, need)
        if need in (query_needs or ()):
            words += " (at test too)"
        found.append(words)
    return found
