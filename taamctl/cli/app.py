"""The command line: one verb per file, errors as two lines on stderr, exit codes 0, 1, 2 and
130.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Annotated

import typer
from typer import Option

from taamctl.cli import exit_codes
from taamctl.cli.console import say
from taamctl.cli.flat_options import flat
from taamctl.cli.help_page import HelpCommand, HelpGroup
from taamctl.cli.live_progress import end_bars
from taamctl.core.this_system import require_machine

app = typer.Typer(
    name="taamctl",
    cls=HelpGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Graph class-incremental learning: a node classifier that keeps learning new classes on "
    "growing graphs.\n\nStages: split, precompute, train, infer, eval, report. `taamctl run` "
    "walks them all.",
)
VERBS = (
    *("run", "split", "precompute", "train", "infer", "eval", "lens", "report", "plan", "predict"),
    *("audit", "compare", "reproduce", "params", "init", "inspect", "doctor"),
    *("status", "keys", "verify", "clean", "docs", "explain"),
)
GROUPS = ("data", "methods", "bank")  # verbs with verbs of their own


def _version(value: bool) -> None:
    if value:
        from taamctl.cli.versions_text import lines

        print("\n".join(lines()))
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options that stand before the verb."""
    if debug:
        os.environ["TAAMCTL_DEBUG"] = "1"


for _verb in VERBS:
    _module = importlib.import_module(f"taamctl.cli.verb_{_verb}")
    _settings = {"ignore_unknown_options": _verb == "explain"}  # it explains options too
    app.command(_verb, cls=HelpCommand, context_settings=_settings)(flat(_module.command))
for _group in GROUPS:
    _app = importlib.import_module(f"taamctl.cli.verb_{_group}").app
    for _member in _app.registered_commands:
        _member.cls = HelpCommand
    app.add_typer(_app, name=_group, cls=HelpGroup)


def entry() -> None:
    """Run the command line and turn every failure into its exit code."""
    # Threads that wait for each other sleep instead of spinning: on a core that others use too,
    # spinning makes training 5 times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  closed by the caller
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without UTF-8 shows ? instead of stopping; Windows writes \n as it is.
            stream.reconfigure(errors="replace", newline="\n")
    try:
        require_machine()
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except SystemExit as stop:
        # typer turns a reader that went away into exit code 1
        if not exit_codes.is_broken_pipe(stop.__context__):
            raise
        code = exit_codes.drop_output()
    except KeyboardInterrupt:
        code = exit_codes.INTERRUPTED
    except Exception as error:
        code = exit_codes.code_of(error)
    if code == exit_codes.INTERRUPTED:
        end_bars()
        say("interrupted; finished tasks are kept, run the same command again to go on")
    exit_codes.drop_unread_messages()
    sys.exit(code)


if __name__ == "__main__":
    entry()
