"""`taamctl bank`: a model that grows, as a folder with one small file per learned task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from taamctl.cli import verb_bank_make
from taamctl.cli.console import say, sheet
from taamctl.cli.verb_bank_make import AsJson, Folder, NoWait

app = typer.Typer(
    help="A model that grows: create, teach, list, verify and carry around a bank of tasks.",
    no_args_is_help=True,
)
app.command("create")(verb_bank_make.create)
app.command("add-task")(verb_bank_make.add_task)

Number = Annotated[
    int,
    typer.Argument(help="The task's number, as `taamctl bank list` shows it.", show_default=False),
]


@app.command("list")
def list_tasks(folder: Folder, as_json: AsJson = False) -> None:
    """List what a bank knows: its tasks with their classes, nodes and files."""
    from taamctl.bank import store

    now = store.current(folder)
    rows: list[dict[str, Any]] = [
        {
            "task": t.number,
            "classes": list(t.classes),
            "train": t.train,
            "val": t.val,
            "source": t.source,
            "file": t.file,
            "sha256": t.sha256,
            "bytes": _bytes(folder / t.file),
        }
        for t in now.tasks
    ]
    facts = {
        "folder": str(folder),
        "method": now.config["method"],
        "seed": now.config["seed"],
        "generation": now.generation,
        "action": now.action,
        "features": now.num_features,
        "classes": len(now.classes),
        "tasks": rows,
    }
    if as_json:
        return typer.echo(json.dumps(facts, indent=1))
    say(
        f"{folder}: {facts['method']}, seed {facts['seed']}, generation {now.generation} "
        f"({now.action}), {len(rows)} tasks, {len(now.classes)} classes"
    )
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0))
    for column in ("task", "train", "val", "KiB"):
        table.add_column(column, justify="right", no_wrap=True)
    for column in ("source", "classes"):
        table.add_column(column, overflow="fold")
    for row in rows:
        size = "gone" if row["bytes"] is None else f"{row['bytes'] // 1024:,}"
        table.add_row(
            str(row["task"]),
            f"{row['train']:,}",
            f"{row['val']:,}",
            size,
            row["source"],
            ", ".join(row["classes"]),
        )
    sheet().print(table)


@app.command()
def verify(folder: Folder, as_json: AsJson = False) -> None:
    """Check every file against its checksum, and every task against the outputs it gave when it
    was learned. Exit code 1: not right.
    """
    from taamctl.bank.verify import verify as check

    found = check(folder)
    bad = [f for f in found if not f.good]
    if as_json:
        typer.echo(
            json.dumps([{"what": f.what, "good": f.good, "said": f.said} for f in found], indent=1)
        )
    else:
        for f in found:
            typer.echo(f"{'ok ' if f.good else 'BAD'} {f.what}: {f.said}")
    say(
        f"{folder}: {len(bad)} of {len(found)} checks say no"
        if bad
        else f"{folder}: all {len(found)} checks are right"
    )
    if bad:
        raise typer.Exit(1)


@app.command()
def remove(
    folder: Folder,
    number: Number,
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete the task's file too: it cannot be brought back.")
    ] = False,
    no_wait: NoWait = False,
) -> None:
    """Forget one task; the others do not change by a bit.

    `taamctl bank rollback` brings it back.
    """
    from taamctl.bank import change

    _told(change.remove(folder, number, purge=purge, wait=not no_wait, tell=say))


@app.command()
def rollback(
    folder: Folder,
    to: Annotated[
        int | None,
        typer.Option("--to", help="Generation to go back to. Default: the one before.", min=0),
    ] = None,
    no_wait: NoWait = False,
) -> None:
    """Go back to an earlier generation, as a new one: nothing is lost by it."""
    from taamctl.bank import change

    _told(change.rollback(folder, to, wait=not no_wait, tell=say))


@app.command()
def export(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="The tar file to write.", show_default=False)],
) -> None:
    """Write the whole bank as one plain tar file, for another machine."""
    from taamctl.bank import transfer

    transfer.export(folder, file)
    typer.echo(str(file))


@app.command("import")
def restore(
    file: Annotated[
        Path, typer.Argument(help="A file that `taamctl bank export` wrote.", show_default=False)
    ],
    folder: Folder,
) -> None:
    """Make a bank from an exported file; it is verified before it is there."""
    from taamctl.bank import transfer

    _told(transfer.restore(file, folder))


def _bytes(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _told(now: Any) -> None:
    say(
        f"generation {now.generation}: {now.action}; {len(now.tasks)} tasks, {len(now.classes)} "
        "classes"
    )
