"""One writer per artefact: the second waits, and is told who holds it."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.store.lock_by_file import FileHeld

POLL = 0.05  # seconds between two looks at a lock that is held
# What a file system answers that has no locks, or whose lock server does not answer.
NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK}
_known: dict[int, bool] = {}  # file system -> whether it has locks


class Lock(Protocol):
    """A lock of a file system, or what stands for one."""

    file: Path

    def take(self) -> bool:
        """Take it; False where another process has it."""

    def release(self) -> None:
        """Give it back."""


@contextmanager
def writing(path: Path, *, wait: bool, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the writer's lock of `path` for the body.

    The system frees it when the process dies, however it dies. Where a file system has no locks,
    `lock_by_file` stands for them.

    Args:
        path: the artefact; the lock lies beside it as `.<name>.lock`, and says who holds it.
        wait: False to give up at once where another process holds it.
        tell: receives one line when this process has to wait.

    Raises:
        TaamctlError: another process holds the lock and `wait` is False, or the folder cannot be
            written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_of(path)
        _take(lock, path, wait, tell)
    except OSError as error:
        raise explain_os_error(error, path) from None
    try:
        yield
    finally:
        lock.release()


def _take(lock: Lock, path: Path, wait: bool, tell: Callable[[str], None]) -> None:
    """Take the lock of a path, and wait for it where another process has it."""
    if lock.take():
        return
    holder = _holder(lock.file)
    gone = ""
    if isinstance(lock, FileHeld):
        gone = f"; if that process is gone, remove {lock.file}"
    if not wait:
        raise TaamctlError(
            f"{path} is being written by {holder}",
            f"wait for it to end, or leave out --no-wait{gone}",
        )
    tell(f"{path} is being written by {holder}; waiting{gone}")
    while not lock.take():
        time.sleep(POLL)


def lock_of(path: Path) -> Lock:
    """Return the lock of a path, as its file system can have one."""
    file = path.parent / f".{path.name}.lock"
    device = path.parent.stat().st_dev
    if device not in _known:
        _known[device] = _has_locks(path.parent)
    if _known[device]:
        return _SystemLock(file)
    return FileHeld(file.with_name(f"{file.name}.held"))


def _has_locks(folder: Path) -> bool:
    """Try whether the file system of a folder has locks."""
    try:
        import fcntl
    except ImportError:  # Windows: every file system of it has
        return True
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
    return True


class _SystemLock:
    """The lock of a file system."""

    def __init__(self, file: Path) -> None:
        from filelock import FileLock

        self.file = file
        self._lock = FileLock(file)

    def take(self) -> bool:
        """Take it, and write into it who has it."""
        from filelock import Timeout

        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            return False
        try:
            self._sign()
        except OSError:
            self._lock.release()
            raise
        return True

    def release(self) -> None:
        """Give it back, where this object has it."""
        self._lock.release()

    def _sign(self) -> None:
        """Write who holds it, for the message that others get."""
        who = {"pid": os.getpid(), "host": platform.node(), "since": time.time()}
        # A system that locks what is in a file, not the file, does not let us write.
        with contextlib.suppress(PermissionError):
            self.file.write_text(json.dumps(who), encoding="utf-8", newline="\n")


def _holder(file: Path) -> str:
    try:
        who = json.loads(file.read_text(encoding="utf-8"))
        since = time.strftime("%H:%M:%S", time.localtime(who["since"]))
        return f"process {who['pid']} on {who['host']} since {since}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
