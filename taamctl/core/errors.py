"""The one error a user sees: what went wrong, then the command or edit that mends it."""

from __future__ import annotations

import os

# Who hands in arrays that do not fit together is a reader of files or a plug-in.
MEND = "mend the file, or the reader or plug-in that made these arrays"
LONGEST = 1000  # characters of a line of a message: names may be long, and values come from files


class TaamctlError(Exception):
    """A fault in the call or its inputs, shown as `error: ...` and `hint: ...` without a traceback.

    Args:
        message: what is wrong, where, and the offending value.
        hint: the command or edit that mends it.
    """

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        self.message = _clipped(message)
        super().__init__(self.message)
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Return what it is made again from in another process, whatever a kind of it adds."""
        return _remade, (type(self), vars(self))


def _remade(kind: type[TaamctlError], values: dict[str, object]) -> TaamctlError:
    made = kind.__new__(kind, values["message"])
    made.__dict__.update(values)
    return made


def _clipped(message: str) -> str:
    """Return a message without the middle of a line that nobody can read."""
    if len(message) <= LONGEST:
        return message
    half = LONGEST // 2 - 5
    lines = message.split("\n")
    return "\n".join(
        f"{line[:half]} ... {line[-half:]}" if len(line) > LONGEST else line for line in lines
    )


def explain_os_error(error: OSError, path: object) -> TaamctlError:
    """Turn an operating-system error on `path` into one line that names the path and the way
    out.
    """
    import errno

    reason = error.strerror or str(error)
    code = error.errno
    text = str(error)
    if code == errno.ENOSPC or "No space left" in text or "errno = 28" in text:
        return TaamctlError(
            f"no space left on the device while writing {path}",
            "free some space or pass --outputs DIR on another disk, then run the same command "
            "again",
        )
    if code == errno.EDQUOT or "errno = 122" in text:
        return TaamctlError(
            f"disk quota exceeded while writing {path}",
            "free some space, then run the same command again",
        )
    if code in (errno.EROFS, errno.EACCES, errno.EPERM):
        return TaamctlError(
            f"cannot write {path}: {os.strerror(code)}",
            "make that folder writable, or pass --outputs DIR to write somewhere else",
        )
    return TaamctlError(
        f"cannot write {path}: {reason}",
        "run the same command again; if it happens again, choose another folder or disk",
    )
