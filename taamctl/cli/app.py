"""The command line: errors as two lines on stderr, exit codes 0, 1, 2 and 130."""

from __future__ import annotations

import io
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from taamctl.cli import exit_codes
from taamctl.cli.all_verbs import made_for
from taamctl.cli.console import say
from taamctl.cli.live_progress import end_bars
from taamctl.core.this_system import require_machine

if TYPE_CHECKING:
    import typer

    app: typer.Typer


@cache
def __getattr__(name: str) -> typer.Typer:
    """Return `app`, the whole command line."""
    if name != "app":
        raise AttributeError(name)
    return made_for(())


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
        code = made_for(sys.argv[1:])(standalone_mode=False) or 0
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
