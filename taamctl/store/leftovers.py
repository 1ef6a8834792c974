"""Temporary files and folders that say whose they are, so that what a killed process left can be
removed, and nothing of a living one.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from taamctl.store import processes

MARK = re.compile(r"([0-9a-f]{8})-(\d+)-")


def mark() -> str:
    """Return a part of a name that no other process gives: where this one runs, its number, and
    some chance.
    """
    return f"{processes.place()}-{os.getpid()}-{secrets.token_hex(4)}"


def sweep_dead(folder: Path, start: str) -> None:
    """Remove what dead processes of this machine left in a folder.

    Args:
        start: that the names begin with, before the mark.
    """
    with suppress(OSError):  # it is tidied up, not asked for
        found = [Path(entry) for entry in os.scandir(folder) if entry.name.startswith(start)]
        for path in found:
            made = MARK.match(path.name.removeprefix(start))
            if made and made[1] == processes.place() and not processes.is_running(int(made[2])):
                remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def scratch(folder: Path, start: str) -> Iterator[Path]:
    """Yield a new folder that is removed afterwards; what dead processes left of its kind goes too.

    Args:
        folder: that it lies in.
        start: of its name.
    """
    sweep_dead(folder, start)
    with tempfile.TemporaryDirectory(prefix=f"{start}{mark()}", dir=folder) as made:
        yield Path(made)
