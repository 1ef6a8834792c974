"""`taamctl data example`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from taamctl.cli.console import say
from taamctl.cli.shared_options import Overwrite


def command(
    folder: Annotated[Path, Argument(help="Folder to write to.", show_default=False)],
    force: Overwrite = False,
) -> None:
    """Write a made-up shop as CSV files, to try `data import` on and to see how a table of one's
    own may look. Prints the files.
    """
    from taamctl.pipeline import example

    for path in example.write(folder, overwrite=force):
        typer.echo(str(path))
    say(f"next: cd {folder} && taamctl data import nodes.csv edges.csv --name shop")
