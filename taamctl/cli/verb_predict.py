"""`taamctl predict`: a class for every node of an unsorted graph, from a bank."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import explained_node, next_step, score_table
from taamctl.cli.answering import Answering
from taamctl.cli.console import say
from taamctl.cli.memory_size import size
from taamctl.cli.one_graph import OneGraph, graph_to_answer
from taamctl.cli.shared_options import DataRoot, Overrides, ParamsFile, Quiet, RawSettings
from taamctl.cli.watching import Watching
from taamctl.cli.watching import run as watch

if TYPE_CHECKING:
    from taamctl.bank.answers import Answers


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

    explain = answering.explain is not None
    watching.require_alone(named, out=out is not None, json=as_json, score=scored, explain=explain)
    if out is not None:
        answers.require_writer(out)
    answering.require_one(scored)
    limit = size(answering.max_memory)
    opened = load_bank(bank)
    options = answering.options(opened.config, limit, scored)
    context = file_if_given(named.context)
    if watching.watch is not None:
        watch(opened, options, context, watching, quiet=quiet)
        return
    graph = graph_to_answer(named, data_root, params, overrides)
    found = opened.predict(graph, options=options, context=context)
    _warn(found.notes * (not quiet))
    if out is not None:
        answers.save(found, out)
    if scored:
        score_table.show(score(found, graph), as_json=as_json)
    elif found.explanation is not None:
        explained_node.show(found.explanation, as_json=as_json)
    elif out is None:
        _print(found, as_json=as_json)
    if not quiet:
        wrote = "" if out is None else f"; wrote {out}"
        say(f"{len(found.label):,} nodes, {int(found.unknown.sum()):,} of them unknown{wrote}")
        if not explain and len(found.label):
            least = found.node[found.confidence.argmin()]  # the one that is worth a look
            same = RawSettings(params=params, overrides=overrides, data_root=data_root)
            say(f"next: {next_step.of_answers(bank, named, least, same, answering)}")


def _warn(notes: Iterable[str]) -> None:
    for note in notes:
        say(f"warning: {note}")


def _print(found: Answers, *, as_json: bool) -> None:
    """Print every answer on stdout."""
    from taamctl.bank import answers

    {True: answers.write_json, False: answers.write_csv}[as_json](found, sys.stdout)
