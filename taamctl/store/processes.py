"""Which process it was that left something on the disk, and whether it is surely gone.

A number of a process means something on one machine, inside one container and until the machine is
started again; so all of that is told apart too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from taamctl.core.plain_values import Plain

# What tells one machine, and one start of it, from another; empty where a system does not say.
MACHINE = Path("/etc/machine-id")
BOOT = Path("/proc/sys/kernel/random/boot_id")
SPACE = Path("/proc/self/ns/pid")
DIGITS = 8  # of the digest that stands for all of it in a file's name


def identity() -> dict[str, Plain]:
    """Return what tells this process from every other one, on this machine and elsewhere."""
    return {**_here(), "boot": text_of(BOOT), "pid": os.getpid(), "started": _started(os.getpid())}


def is_gone(who: Mapping[str, Plain]) -> bool:
    """Tell whether a process is surely gone; never of one that was somewhere else.

    Args:
        who: its `identity`.

    Raises:
        KeyError, TypeError, ValueError: that is none.
    """
    here, boot = _here(), text_of(BOOT)
    if any(who[name] != value for name, value in here.items()):
        return False
    if who["boot"] != boot:  # this machine was started again, if it is surely this one
        return bool(here["machine"])
    return bool(_started(int(who["pid"])) != who["started"])


def place() -> str:
    """Return a short word for this machine, container and start of the machine."""
    text = json.dumps({**_here(), "boot": text_of(BOOT)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def is_running(pid: int) -> bool:
    """Tell whether a process of this number runs here."""
    return _started(pid) is not None


def text_of(file: Path) -> str:
    """Return what a file holds; empty where it cannot be read."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _here() -> dict[str, Plain]:
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink(SPACE)
    return {"host": platform.node(), "machine": text_of(MACHINE), "space": space}


def _started(pid: int) -> Plain:
    """Return the moment when a process was started; None where there is none of that number."""
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # In ticks since the machine was started, where that is told: no clock moves it.
        told = text_of(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
        return int(told[19]) if told else round(process.create_time(), 1)
    except psutil.NoSuchProcess:
        return None
