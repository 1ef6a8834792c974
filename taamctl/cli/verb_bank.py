"""`taamctl bank`: a model that grows, as a folder with one small file per learned task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from taamctl.cli import (
    verb_bank_change,
    verb_bank_forget,
    verb_bank_make,
    verb_bank_onnx,
    verb_bank_update,
)
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.flat_options import flat
from taamctl.cli.shared_options import AsJson
from taamctl.cli.verb_bank_make import Folder

if TYPE_CHECKING:
    from taamctl.bank.manifest import Entry

app = typer.Typer(no_args_is_help=True)
app.command("create")(verb_bank_make.create)
app.command("add-task")(flat(verb_bank_make.add_task))
app.command("update")(flat(verb_bank_update.update))
app.command("forget")(flat(verb_bank_forget.forget))


@app.command("list")
def list_tasks(folder: Folder, as_json: AsJson = False) -> None:
    """List what a bank knows: its tasks with their classes, nodes and files."""
    from taamctl.bank import store

    now = store.current(folder)
    method = now.config["method"]
    seed = now.config["seed"]
    if as_json:
        facts = {
            "folder": str(folder),
            "method": method,
            "seed": seed,
            "generation": now.generation,
            "action": now.action,
            "features": now.num_features,
            "classes": len(now.classes),
            "tasks": [_facts(folder, task) for task in now.tasks],
        }
        typer.echo(json.dumps(facts, indent=1))
        return
    say(
        f"{folder}: {method}, seed {seed}, generation {now.generation} "
        f"({now.action}), {len(now.tasks)} tasks, {len(now.classes)} classes"
    )
    rows = []
    for task in now.tasks:
        size = "gone"
        if (folder / task.file).is_file():
            size = f"{(folder / task.file).stat().st_size // 1024:,}"
        counts = (str(task.number), f"{task.train:,}", f"{task.val:,}", size)
        rows.append((*counts, task.source, ", ".join(task.classes)))
    numbers = [Column(name, right=True) for name in ("task", "train", "val", "KiB")]
    words = [Column(name, fold=True) for name in ("source", "classes")]
    print_table([*numbers, *words], rows, gap=1)


def _facts(folder: Path, task: Entry) -> dict[str, object]:
    file = folder / task.file
    size = None
    if file.is_file():
        size = file.stat().st_size
    return {
        "task": task.number,
        "classes": list(task.classes),
        "train": task.train,
        "val": task.val,
        "source": task.source,
        "file": task.file,
        "sha256": task.sha256,
        "bytes": size,
    }


@app.command()
def verify(folder: Folder, as_json: AsJson = False) -> None:
    """Check every file against its checksum, and every task against the outputs it gave when it
    was learned. Exit code 1: not right.
    """
    from taamctl.bank.verify import verify as check

    found = check(folder)
    if as_json:
        facts = [{"what": f.what, "good": f.good, "said": f.said} for f in found]
        typer.echo(json.dumps(facts, indent=1))
    else:
        for f in found:
            typer.echo(f"{'ok ' if f.good else 'BAD'} {f.what}: {f.said}")
    bad = sum(not f.good for f in found)
    if bad:
        say(f"{folder}: {bad} of {len(found)} checks say no")
        raise typer.Exit(1)
    say(f"{folder}: all {len(found)} checks are right")


app.command("remove")(verb_bank_change.remove)
app.command("rollback")(verb_bank_change.rollback)
app.command("upgrade")(verb_bank_change.upgrade)
app.command("export")(verb_bank_change.export)
app.command("import")(verb_bank_change.restore)
app.command("onnx")(verb_bank_onnx.write_onnx)
