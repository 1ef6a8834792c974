"""The command line: one verb per file, errors as two lines on stderr, exit codes 0, 1, 2 and 130."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

from taamctl.cli import console

app = typer.Typer(name="taamctl", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="Graph class-incremental learning: a node classifier that keeps learning new classes on growing graphs.\n\n"
                       "Stages: split, precompute, train, infer, eval, report. `taamctl run` walks them all.")
VERBS = ("run", "split", "precompute", "train", "infer", "eval", "report", "inspect", "doctor")


def _version(value: bool) -> None:
    if value:
        from importlib import metadata

        print(f"taamctl {metadata.version('taamctl')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options that stand before the verb."""
    if debug:
        os.environ["TAAMCTL_DEBUG"] = "1"


for _verb in VERBS:
    _module = importlib.import_module(f"taamctl.cli.{_verb}")
    app.command(_verb)(_module.command)
app.add_typer(importlib.import_module("taamctl.cli.data").app, name="data")


def entry() -> None:
    """Run the command line and turn every failure into its exit code."""
    from taamctl.core.errors import TaamctlError

    try:
        app()
    except TaamctlError as error:
        if os.environ.get("TAAMCTL_DEBUG"):
            raise
        console.show_error(error.message, error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.say("interrupted; finished tasks are kept, run the same command again to go on")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    entry()
