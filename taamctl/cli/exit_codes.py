"""What a failure shows, and the exit code that it ends with."""

from __future__ import annotations

import contextlib
import errno
import os
import sys

from taamctl.cli.console import show_error
from taamctl.cli.live_progress import end_bars
from taamctl.core.errors import TaamctlError

BROKEN = 2  # the call or its inputs
INTERRUPTED = 130
NO_ROOM = ("failed to map segment", "cannot allocate memory")  # as the system's loader says it


def code_of(error: Exception) -> int:
    """Show a failure and return its exit code; raise what is a fault of ours."""
    if isinstance(error, TaamctlError):
        return _failed(error, error.message, error.hint, error.exit_code)
    if is_broken_pipe(error):
        return drop_output()
    if isinstance(error, OSError):
        where = "input or output failed"
        if error.filename:
            where = error.filename
        message = f"{where}: {error.strerror or error}"
        code = _failed(error, message, "taamctl --debug ... shows where", BROKEN)
        drop_output()
        return code
    if isinstance(error, MemoryError) or _no_room(error):
        hint = "a smaller data set or a smaller train.node_batch needs less"
        return _failed(error, "out of memory", hint, BROKEN)
    if hasattr(error, "format_message"):  # the parser refuses the call
        return _refused(error, error.format_message())
    raise error


def _no_room(error: Exception) -> bool:
    """Tell whether a library could not be loaded for want of memory."""
    text = str(error).lower()
    return isinstance(error, ImportError) and any(words in text for words in NO_ROOM)


def _failed(error: Exception, message: str, hint: str, code: int) -> int:
    end_bars()
    if os.environ.get("TAAMCTL_DEBUG"):
        raise error
    show_error(message, hint)
    return code


def _refused(error: Exception, message: str) -> int:
    """Show why the parser refuses a call; of an empty one it has already shown the help."""
    if type(error).__name__ != "NoArgsIsHelpError":
        context = getattr(error, "ctx", None)
        hint = "taamctl --help lists the verbs"
        if context:
            hint = f"{context.command_path} --help lists what there is"
        show_error(message, hint)
    return BROKEN


def is_broken_pipe(error: BaseException | None) -> bool:
    """Tell whether whoever read our output is gone; Windows calls that an invalid argument."""
    gone = (errno.EPIPE, errno.EINVAL) if os.name == "nt" else (errno.EPIPE,)
    return isinstance(error, OSError) and error.errno in gone


def drop_output() -> int:
    """Send what is buffered for stdout nowhere: its reader is gone, or the disk is full."""
    _send_nowhere(1)
    return 0


def drop_unread_messages() -> None:
    """Send messages that nobody reads any more nowhere: Python would end with a code of its own."""
    try:
        sys.stderr.flush()
    except OSError:
        _send_nowhere(2)


def _send_nowhere(number: int) -> None:
    """Point a file handle to the null device; its own is given up first, for there may be no other
    one left.
    """
    with contextlib.suppress(OSError):
        os.close(number)
    opened = os.open(os.devnull, os.O_WRONLY)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
