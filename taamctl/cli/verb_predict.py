"""`taamctl predict`: a class for every node of an unsorted graph, from a bank."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import score_table
from taamctl.cli.console import say
from taamctl.cli.memory_size import size
from taamctl.cli.one_graph import OneGraph, graph_to_answer
from taamctl.cli.shared_options import DataRoot, MaxMemory, Overrides, ParamsFile, Quiet
from taamctl.cli.unknown_rate import unknown_rate
from taamctl.cli.watching import Watching
from taamctl.cli.watching import run as watch

if TYPE_CHECKING:
    from taamctl.bank.config import Config
    from taamctl.bank.predictor import PredictOptions


@dataclass(frozen=True)
class Answering:
    """How a bank answers; what is not given is as the bank was made."""

    decide: Annotated[
        str | None,
        Option("--decide", help="router, expert or soft. Default: as the bank was made."),
    ] = None
    router: Annotated[
        str,
        Option(
            "--router",
            help="What chooses a task: ridge, prototype, or auto: what validation is most sure of.",
        ),
    ] = "auto"
    unit: Annotated[
        str, Option("--unit", help="What one choice is made for: node, component or graph.")
    ] = "node"
    unknown: Annotated[
        str | None,
        Option(
            "--unknown",
            metavar="off|RATE",
            help="Share of nodes of known classes that may be called "
            "unknown. Default: as the bank was made.",
        ),
    ] = None
    max_memory: MaxMemory = None
    scratch: Annotated[
        Path | None,
        Option("--scratch", help="Folder for that. Default: the system's for temporary files."),
    ] = None

    def options(self, fixed: Config, limit: int | None) -> PredictOptions:
        """Return the same for a bank that was made with `fixed`."""
        from taamctl.bank.predictor import PredictOptions

        rate = fixed.bank.unknown
        if self.unknown is not None:
            rate = unknown_rate(self.unknown)
        decide = self.decide or fixed.bank.decide
        return PredictOptions(decide, self.router, self.unit, rate, limit, self.scratch)


def command(
    *,
    bank: Annotated[Path, Option("--bank", help="The bank's folder.", show_default=False)],
    named: OneGraph,
    out: Annotated[
        Path | None,
        Option("--out", help="Write *.csv, *.json, *.jsonl or *.parquet. Default: CSV on stdout."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="JSON on stdout instead of CSV.")] = False,
    scored: Annotated[
        bool, Option("--score", help="Print how right the answers are by the graph's labels.")
    ] = False,
    answering: Answering,
    watching: Watching,
    data_root: DataRoot = None,
    params: ParamsFile = None,
    overrides: Overrides = None,
    quiet: Quiet = False,
) -> None:
    """Answer every node of a graph: class, task, confidence, and whether no known class fits.

    Labels in the graph are not read, except to score the answers.
    """
    from taamctl.bank import answers
    from taamctl.bank.bank import load_bank
    from taamctl.bank.score import score
    from taamctl.importing.upgrade_graph import file_if_given

    watching.require_alone(named, out=out is not None, json=as_json, score=scored)
    if out is not None:
        answers.require_writer(out)
    limit = size(answering.max_memory)
    opened = load_bank(bank)
    options = answering.options(opened.config, limit)
    context = file_if_given(named.context)
    if watching.watch is not None:
        watch(opened, options, context, watching, quiet=quiet)
        return
    graph = graph_to_answer(named, data_root, params, overrides)
    found = opened.predict(graph, options=options, context=context)
    if not quiet:
        for note in found.notes:
            say(f"warning: {note}")
    if out is not None:
        answers.save(found, out)
    if scored:
        score_table.show(score(found, graph), as_json=as_json)
    elif out is None:
        {True: answers.write_json, False: answers.write_csv}[as_json](found, sys.stdout)
    if not quiet:
        wrote = "" if out is None else f"; wrote {out}"
        say(f"{len(found.label):,} nodes, {int(found.unknown.sum()):,} of them unknown{wrote}")
