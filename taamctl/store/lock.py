"""One writer per artefact: the second waits, and is told who holds it."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from taamctl.core.errors import TaamctlError, explain_os_error

POLL = 0.05  # seconds between two looks at a lock that is held


@contextmanager
def writing(path: Path, *, wait: bool, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the writer's lock of `path` for the body.

    The system frees it when the process dies, however it dies.

    Args:
        path: the artefact; the lock lies beside it as `.<name>.lock`, and says who holds it.
        wait: False to give up at once where another process holds it.
        tell: receives one line when this process has to wait.

    Raises:
        TaamctlError: another process holds the lock and `wait` is False, or the folder cannot be
            written.
    """
    from filelock import FileLock, Timeout

    file = path.parent / f".{path.name}.lock"
    lock = FileLock(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            holder = _holder(file)
            if not wait:
                raise TaamctlError(
                    f"{path} is being written by {holder}",
                    "wait for it to end, or leave out --no-wait",
                ) from None
            tell(f"{path} is being written by {holder}; waiting")
            lock.acquire(poll_interval=POLL)
        _sign(file)
    except OSError as error:
        lock.release()
        raise explain_os_error(error, path) from None
    try:
        yield
    finally:
        lock.release()


def _sign(file: Path) -> None:
    """Write into a lock who holds it, for the message that others get."""
    who = {"pid": os.getpid(), "host": platform.node(), "since": time.time()}
    # A system that locks what is in a file, not the file, does not let us write.
    with contextlib.suppress(PermissionError):
        file.write_text(json.dumps(who), encoding="utf-8", newline="\n")


def _holder(file: Path) -> str:
    try:
        who = json.loads(file.read_text(encoding="utf-8"))
        since = time.strftime("%H:%M:%S", time.localtime(who["since"]))
        return f"process {who['pid']} on {who['host']} since {since}"
    except (OSError, ValueError, KeyError):
        return "another process"
