"""`taamctl predict --watch`: graphs that come into a folder are answered one after another."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from taamctl.cli.console import teller
from taamctl.cli.one_graph import OneGraph, require_imported
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.bank.answers import Answers
    from taamctl.bank.bank import Bank
    from taamctl.bank.predict_options import PredictOptions

EVERY = 2.0  # seconds, unless a call says otherwise


@dataclass(frozen=True)
class Watching:
    """A folder that graphs come into, instead of one graph."""

    watch: Annotated[
        Path | None,
        Option("--watch", help="Answer every graph that comes into this folder, until Ctrl-C."),
    ] = None
    into: Annotated[
        Path | None,
        Option("--into", help="Folder for their answers. Default: answers, in the watched one."),
    ] = None
    once: Annotated[
        bool, Option("--once", help="Answer what lies there, and end; 1 where one is refused.")
    ] = False
    every: Annotated[
        float | None,
        Option(
            "--every",
            metavar="SECONDS",
            help="Between two looks; a file that changes between them is not taken yet. "
            "Default: 2.0.",
            min=0.01,
            max=86_400,
        ),
    ] = None
    kind: Annotated[
        str | None,
        Option("--format", help="Of their answers: csv, json, jsonl or parquet. Default: csv."),
    ] = None

    def require_alone(self, named: OneGraph, **others: bool) -> None:
        """Refuse options that would not be read.

        Args:
            others: further options for one graph, and whether they were given.
        """
        given = {
            "once": self.once,
            "into": self.into is not None,
            "every": self.every is not None,
            "format": self.kind is not None,
        }
        if self.watch is not None:
            given = {"graph": named.graph is not None, "dataset": named.dataset is not None}
            given |= others
        surplus = [f"--{name}" for name, is_there in given.items() if is_there]
        if surplus and self.watch is None:
            raise TaamctlError(
                f"{surplus[0]} belongs to --watch FOLDER", "name the folder that graphs come into"
            )
        if surplus:
            raise TaamctlError(
                f"{surplus[0]} does not go together with --watch",
                "leave it out: graphs come from the folder, answers go into --into FOLDER",
            )


def run(
    bank: Bank, options: PredictOptions, context: Path | None, how: Watching, *, quiet: bool
) -> None:
    """Answer what comes, and print the path of every answer and refusal.

    The context is opened once: where it cannot be, no graph is to blame.
    """
    from taamctl.bank import answers, watched_folder
    from taamctl.bank.bank import asked_once, query_of
    from taamctl.bank.predictor import Predictor

    assert how.watch is not None
    ending = f".{how.kind or 'csv'}"
    answers.require_kind(ending, f"--format {how.kind}")
    predictor = Predictor(bank, options)
    predictor.warm_up()

    def ask(path: Path) -> Answers:
        require_imported(path)
        try:
            return asked_once(predictor, path, old)
        except MemoryError:  # of this graph: the next one may fit
            raise TaamctlError(
                f"{path} does not fit into memory",
                "watch with --max-memory 2G, say: what does not fit goes to the disk",
            ) from None

    folder = watched_folder.WatchedFolder(
        how.watch, how.into or how.watch / "answers", ending, ask, teller(quiet)
    )
    refused = False
    with ExitStack() as files:
        old = None if context is None else query_of(context, files)
        for path in folder.results(how.every or EVERY, once=how.once):
            typer.echo(str(path))
            refused = refused or path.name.endswith(watched_folder.REFUSED)
    if refused:
        raise typer.Exit(1)
