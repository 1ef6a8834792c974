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
import platform
import secrets
import time
from pathlib import Path

from taamctl.core.plain_values import Plain

UNSIGNED = 60.0  # seconds after which a lock that nobody signed was left by a killed process
# What tells one machine, and one start of it, from another; empty where a system does not say.
MACHINE = Path("/etc/machine-id")
BOOT = Path("/proc/sys/kernel/random/boot_id")
SPACE = Path("/proc/self/ns/pid")  # numbers of processes mean something inside one only


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
        if self._me and _text(self.file) == self._me:
            self.file.unlink(missing_ok=True)
        self._me = ""

    def _created(self) -> bool:
        mine = json.dumps({**identity(), "since": time.time(), "token": secrets.token_hex(8)})
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
            who = json.loads(_text(self.file))
            return _is_gone(who)
        except (ValueError, KeyError, TypeError):  # created, and not signed yet
            with contextlib.suppress(OSError):
                return abs(time.time() - self.file.stat().st_mtime) > UNSIGNED
            return False


def identity() -> dict[str, Plain]:
    """Return what tells this process from every other one, on this machine and elsewhere."""
    return {**_here(), "boot": _text(BOOT), "pid": os.getpid(), "started": _started(os.getpid())}


def _here() -> dict[str, Plain]:
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink(SPACE)
    return {"host": platform.node(), "machine": _text(MACHINE), "space": space}


def _is_gone(who: Plain) -> bool:
    here, boot = _here(), _text(BOOT)
    if any(who[name] != value for name, value in here.items()):
        return False
    if who["boot"] != boot:  # this machine was started again, if it is surely this one
        return bool(here["machine"])
    return bool(_started(int(who["pid"])) != who["started"])


def _started(pid: int) -> Plain:
    """Return the moment when a process was started; None where there is none of that number."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # In ticks since the machine was started, where that is told: no clock moves it.
        told = _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        return int(told[19]) if told else round(process.create_time(), 1)
    except psutil.NoSuchProcess:
        return None


def _text(file: Path) -> str:
    """Return what a file holds; empty where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
