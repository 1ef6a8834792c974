"""`taamctl methods`: which methods there are, what each of them does, and how to begin a new
one.
"""

from __future__ import annotations

import json

import typer

from taamctl.cli import verb_methods_new, verb_methods_show
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import AsJson
from taamctl.cli.verb_methods_show import PACKAGE, needs_of
from taamctl.core import registry

app = typer.Typer(no_args_is_help=True)


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
        shown = {**row, "needs": ", ".join(needs_of(row["needs"], row["query_needs"])) or None}
        if row["broken"]:
            shown["memory"] = f"broken: {row['broken']}"
        lines.append(["-" if shown[key] is None else shown[key] for key in keys])
    print_table(columns, lines, gap=1)
    say("next: taamctl methods show NAME says how one of them works")


app.command("show")(verb_methods_show.command)
app.command("new")(verb_methods_new.command)
