"""A lock for file systems that have none: a file that only one process can create, and that says
who did.

The system does not remove it when its holder dies. So a holder counts as dead where it was a
process of this machine and no process of that number, started at that moment, lives any more. A
holder on another machine, or in another container, never counts as dead: the message names the
file to remove.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from pathlib import Path

from taamctl.store import processes

UNSIGNED = 60.0  # seconds after which a lock that nobody signed was left by a killed process


class FileHeld:
    """The lock of one file.

    Args:
        file: lies beside what is locked.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._breaker = file.with_name(f"{file.name}.break")
        self._me = ""

    def take(self) -> bool:
        """Take the lock, a dead holder's too; False where another process has it."""
        if self._created():
            return True
        if not self._is_dead():
            return False
        # Only one of those that find the holder dead may take its place: who holds the lock on it.
        breaking = FileHeld(self._breaker)
        if not breaking.take():
            return False
        try:
            if not self._is_dead():
                return False
            self.file.unlink(missing_ok=True)
            return self._created()
        finally:
            breaking.release()

    def release(self) -> None:
        """Give the lock back, where this object has it."""
        if self._me and processes.text_of(self.file) == self._me:
            self.file.unlink(missing_ok=True)
        self._me = ""

    def _created(self) -> bool:
        mine = json.dumps(
            {**processes.identity(), "since": time.time(), "token": secrets.token_hex(8)}
        )
        try:
            descriptor = os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        try:
            os.write(descriptor, mine.encode())
        except OSError:
            self.file.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        self._me = mine
        return True

    def _is_dead(self) -> bool:
        """Tell whether the process that has the lock is surely gone."""
        try:
            who = json.loads(processes.text_of(self.file))
            return processes.is_gone(who)
        except (ValueError, KeyError, TypeError):  # created, and not signed yet
            with contextlib.suppress(OSError):
                return abs(time.time() - self.file.stat().st_mtime) > UNSIGNED
            return False
