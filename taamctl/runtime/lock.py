"""One writer per artefact: the second waits, and is told who holds it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from taamctl.core.errors import TaamctlError, explain_os_error


@contextmanager
def writing(path: Path, *, wait: bool, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the writer's lock of `path` for the body.

    The kernel frees it when the process dies, however it dies.

    Args:
        path: the artefact; the lock lies beside it as `.<name>.lock`.
        wait: False to give up at once where another process holds it.
        tell: receives one line when this process has to wait.

    Raises:
        TaamctlError: another process holds the lock and `wait` is False, or the folder cannot be
            written.
    """
    import fcntl

    lock = path.parent / f".{path.name}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise explain_os_error(error, path) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(lock)
            if not wait:
                raise TaamctlError(
                    f"{path} is being written by {owner}",
                    "wait for it to end, or leave out --no-wait",
                ) from None
            tell(f"{path} is being written by {owner}; waiting")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(
                descriptor,
                json.dumps(
                    {"pid": os.getpid(), "host": os.uname().nodename, "since": time.time()}
                ).encode(),
                0,
            )
        except OSError as error:
            raise explain_os_error(error, path) from None
        yield
    finally:
        os.close(descriptor)


def _owner(lock: Path) -> str:
    try:
        who = json.loads(lock.read_text())
        return (
            f"process {who['pid']} on {who['host']} since "
            f"{time.strftime('%H:%M:%S', time.localtime(who['since']))}"
        )
    except (OSError, ValueError, KeyError):
        return "another process"
