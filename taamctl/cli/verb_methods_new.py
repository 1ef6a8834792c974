"""`taamctl methods new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from taamctl.cli.console import say
from taamctl.cli.shared_options import Overwrite


def command(
    name: Annotated[
        str,
        Argument(help="The new method's name: lower-case, such as my_method.", show_default=False),
    ],
    into: Annotated[
        Path | None, Option("--into", help="Folder to write. Default: one called as the method.")
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
