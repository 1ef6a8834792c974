"""`taamctl bank remove`, `rollback`, `upgrade`, `export` and `import`: what teaching does not
do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from taamctl.cli.console import say
from taamctl.cli.shared_options import AsJson
from taamctl.cli.verb_bank_make import Folder, NoWait

if TYPE_CHECKING:
    from taamctl.bank.manifest import Manifest


def remove(
    folder: Folder,
    number: Annotated[
        int,
        Argument(help="The task's number, as `taamctl bank list` shows it.", show_default=False),
    ],
    purge: Annotated[
        bool, Option("--purge", help="Delete the task's file too: it cannot be brought back.")
    ] = False,
    no_wait: NoWait = False,
) -> None:
    """Forget one task; the others do not change by a bit.

    `taamctl bank rollback` brings it back.
    """
    from taamctl.bank import change

    _say_state(change.remove(folder, number, purge=purge, wait=not no_wait, tell=say))


def rollback(
    folder: Folder,
    to: Annotated[
        int | None, Option("--to", help="Generation to go back to. Default: the one before.", min=0)
    ] = None,
    no_wait: NoWait = False,
) -> None:
    """Go back to an earlier generation, as a new one: nothing is lost by it."""
    from taamctl.bank import change

    _say_state(change.rollback(folder, to, wait=not no_wait, tell=say))


def upgrade(folder: Folder, no_wait: NoWait = False, as_json: AsJson = False) -> None:
    """Write the manifest anew in the present version, as a new generation; no task's file changes.

    A bank of an earlier version is read without that too.
    """
    from taamctl.bank import upgrade as bank_upgrade

    now, changes = bank_upgrade.upgrade(folder, wait=not no_wait, tell=say)
    if as_json:
        facts = {"folder": str(folder), "generation": now.generation, "format": now.format}
        typer.echo(json.dumps({**facts, "changes": changes}, indent=1))
        return
    for line in changes:
        typer.echo(line)
    if not changes:
        say(f"{folder} is of format {now.format} with every parameter already: nothing to do")
        return
    _say_state(now)


def export(
    folder: Folder,
    file: Annotated[Path, Argument(help="The tar file to write.", show_default=False)],
) -> None:
    """Write the whole bank as one plain tar file, for another machine."""
    from taamctl.bank import transfer

    transfer.export(folder, file)
    typer.echo(str(file))


def restore(
    file: Annotated[
        Path, Argument(help="A file that `taamctl bank export` wrote.", show_default=False)
    ],
    folder: Folder,
) -> None:
    """Make a bank from an exported file; it is verified before it is there."""
    from taamctl.bank import transfer

    _say_state(transfer.restore(file, folder))


def _say_state(now: Manifest) -> None:
    say(
        f"generation {now.generation}: {now.action}; {len(now.tasks)} tasks, {len(now.classes)} "
        "classes"
    )
