"""The command line: one verb per file, errors as two lines on stderr, exit codes 0, 1, 2 and
130.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from typing import Annotated, Any

import typer

from taamctl.cli import console

app = typer.Typer(
    name="taamctl",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Graph class-incremental learning: a node classifier that keeps learning new classes on "
    "growing graphs.\n\nStages: split, precompute, train, infer, eval, report. `taamctl run` "
    "walks them all.",
)
INTERRUPTED = 130
VERBS = (
    "run",
    "split",
    "precompute",
    "train",
    "infer",
    "eval",
    "report",
    "plan",
    "predict",
    "audit",
    "compare",
    "reproduce",
    "params",
    "init",
    "inspect",
    "doctor",
)
GROUPS = ("data", "methods", "bank")  # verbs with verbs of their own


def _version(value: bool) -> None:
    if value:
        from importlib import metadata

        print(f"taamctl {metadata.version('taamctl')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Take the options that stand before the verb."""
    if debug:
        os.environ["TAAMCTL_DEBUG"] = "1"


for _verb in VERBS:
    _module = importlib.import_module(f"taamctl.cli.verb_{_verb}")
    app.command(_verb)(_module.command)
for _group in GROUPS:
    app.add_typer(importlib.import_module(f"taamctl.cli.verb_{_group}").app, name=_group)


def entry() -> None:
    """Run the command line and turn every failure into its exit code."""
    from taamctl.core.errors import TaamctlError

    # Threads that wait for each other sleep instead of spinning: on a core that others use too,
    # spinning makes training 5 times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  closed by the caller
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="replace"
            )  # a terminal without UTF-8 shows ? instead of stopping
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except TaamctlError as error:
        code = _failed(error, error.message, error.hint, error.exit_code)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except SystemExit as stop:
        if not _is_broken_pipe(
            stop.__context__
        ):  # typer turns a reader that went away into exit code 1
            raise
        code = _drop_output()
    except OSError as error:
        where = f"{error.filename}: " if error.filename else "input or output failed: "
        code = (
            _drop_output()
            if _is_broken_pipe(error)
            else _failed(
                error, where + (error.strerror or str(error)), "taamctl --debug ... shows where", 2
            )
        )
    except MemoryError as error:
        code = _failed(
            error, "out of memory", "a smaller data set or a smaller train.node_batch needs less", 2
        )
    except Exception as error:
        if not hasattr(error, "format_message"):  # else the parser refuses the call
            raise
        code = _refused(error)
    if code == INTERRUPTED:
        console.end_bars()
        console.say("interrupted; finished tasks are kept, run the same command again to go on")
    sys.exit(code or 0)


def _failed(error: Exception, message: str, hint: str, code: int) -> int:
    console.end_bars()
    if os.environ.get("TAAMCTL_DEBUG"):
        raise error
    console.show_error(message, hint)
    if isinstance(error, OSError):
        _drop_output()
    return code


def _refused(error: Any) -> int:
    """Show what the parser says about the call; it has already shown the help where the call was
    empty.
    """
    if type(error).__name__ != "NoArgsIsHelpError":
        context = getattr(error, "ctx", None)
        console.show_error(
            error.format_message(),
            f"{context.command_path} --help lists what there is" if context else "",
        )
    return 2


def _is_broken_pipe(error: BaseException | None) -> bool:
    return isinstance(error, OSError) and error.errno == errno.EPIPE


def _drop_output() -> int:
    """Send what is still buffered for stdout nowhere: whoever read it is gone, or the disk is
    full.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


if __name__ == "__main__":
    entry()
