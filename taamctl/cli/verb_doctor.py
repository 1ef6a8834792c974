"""`taamctl doctor`."""

from __future__ import annotations

import json
from shlex import quote
from typing import Annotated

import typer
from typer import Argument, Option

from taamctl.cli.installation import examine
from taamctl.cli.shared_options import JsonOnStdout
from taamctl.core.errors import TaamctlError


def command(
    name: Annotated[
        str | None, Argument(help="None; of a graph, see: taamctl data doctor NAME.")
    ] = None,
    report: Annotated[
        bool,
        Option("--report", help="Print what a bug report needs, without names and paths of yours."),
    ] = False,
    as_json: JsonOnStdout = False,
) -> None:
    """Name versions, device, propagation backends and thread settings, and any clash with its fix.

    Exit 1 on a clash.
    """
    if name is not None:
        raise TaamctlError(
            f"taamctl doctor looks at the installation, not at {name[:60]!r}",
            f"of a graph: taamctl data doctor {quote(name[:60])}",
        )
    facts = examine()
    if report:
        from taamctl.cli import issue_report

        print(issue_report.text(vars(facts)))
    elif as_json:
        print(json.dumps(vars(facts), indent=1))
    else:
        for section in ("versions", "device", "backends", "threads"):
            print(section)
            for name, value in vars(facts)[section].items():
                print(f"  {name:22s} {value}")
        for clash in facts.clashes:
            print(f"clash: {clash['what']}\n  fix: {clash['fix']}")
        if not facts.clashes:
            print("no clash found")
    if facts.clashes:
        raise typer.Exit(1)
