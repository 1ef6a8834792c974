"""`taamctl predict`: a class for every node of an unsorted graph, from a bank."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from taamctl.cli.common import DataRoot, MaxMemory, Overrides, ParamsFile, Quiet
from taamctl.cli.console import say
from taamctl.cli.size import size
from taamctl.cli.verb_bank_make import Dataset, GraphFile, source_of


def command(
    bank: Annotated[Path, typer.Option("--bank", help="The bank's folder.", show_default=False)],
    graph: GraphFile = None,
    dataset: Dataset = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write *.csv, *.json, *.jsonl or *.parquet. Default: CSV on stdout."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout instead of CSV.")] = False,
    decide: Annotated[
        str | None,
        typer.Option("--decide", help="router, expert or soft. Default: as the bank was made."),
    ] = None,
    router: Annotated[
        str, typer.Option("--router", help="What chooses a task: ridge or prototype.")
    ] = "ridge",
    unit: Annotated[
        str, typer.Option("--unit", help="What one choice is made for: node, component or graph.")
    ] = "node",
    unknown: Annotated[
        str | None,
        typer.Option(
            "--unknown",
            metavar="off|RATE",
            help="Share of nodes of known classes that may be called "
            "unknown. Default: as the bank was made.",
        ),
    ] = None,
    max_memory: MaxMemory = None,
    scratch: Annotated[
        Path | None,
        typer.Option(
            "--scratch", help="Folder for that. Default: the system's for temporary files."
        ),
    ] = None,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Answer every node of a graph: class, task, confidence, and whether no known class fits.

    Labels in the graph are not read.
    """
    from taamctl.bank import answers as written
    from taamctl.bank.bank import load_bank
    from taamctl.bank.predictor import PredictOptions
    from taamctl.core.errors import TaamctlError

    if out is not None:
        written.require_writer(out)
    limit = None if max_memory is None else size(max_memory)
    opened = load_bank(bank)
    rate = opened.config.bank.unknown if unknown is None else _rate(unknown)
    options = PredictOptions(
        decide or opened.config.bank.decide, router, unit, rate, limit, scratch
    )
    if (graph is None) == (dataset is None):
        raise TaamctlError("name one graph", "with --graph FILE or --dataset NAME")
    made = opened.predict(
        graph if graph is not None else source_of(None, dataset, data_root, params, overrides),
        options=options,
    )
    for note in () if quiet else made.notes:
        say(f"warning: {note}")
    if out is not None:
        written.save(made, out)
    else:
        (written.write_json if as_json else written.write_csv)(made, sys.stdout)
    if not quiet:
        say(
            f"{len(made.label):,} nodes, {int(made.unknown.sum()):,} of them unknown"
            + (f"; wrote {out}" if out else "")
        )


def _rate(text: str) -> float:
    """Return the rate of `--unknown`."""
    from taamctl.core.errors import TaamctlError

    if text == "off":
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise TaamctlError(
            f"--unknown {text}: neither off nor a number",
            "such as --unknown 0.05, or --unknown off",
        ) from None
