"""`taamctl bank onnx`: a bank for programs without this package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from taamctl.cli.console import say
from taamctl.cli.verb_bank_make import Folder


def write_onnx(
    folder: Folder,
    into: Annotated[
        Path, Option("--into", help="Folder for graph.onnx and rows.onnx.", show_default=False)
    ],
    decide: Annotated[
        str | None,
        Option("--decide", help="router, expert or soft. Default: as the bank was made."),
    ] = None,
) -> None:
    """Write how the bank answers as two models in ONNX, which run without taamctl.

    graph.onnx takes a small graph: x, adjacency, degree. rows.onnx takes features that are
    propagated already. What stands in them beside that is what their metadata says.
    """
    from taamctl.bank import onnx_export
    from taamctl.bank.bank import load_bank

    bank = load_bank(folder)
    how = decide or bank.config.bank.decide
    for path in onnx_export.export(bank, into, how):
        typer.echo(str(path))
    say(f"{len(bank.manifest.classes)} classes, answered by {how}")
