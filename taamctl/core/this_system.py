"""What systems differ in, each difference in one place: the rest of the package knows none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from taamctl.core.errors import TaamctlError


def require_machine() -> None:
    """Refuse a machine that taamctl cannot compute right numbers on.

    Raises:
        TaamctlError: it is big-endian, or this Python has 32-bit addresses.
    """
    if sys.byteorder != "little":
        raise TaamctlError(
            "this machine is big-endian; taamctl and its artefacts are little-endian only",
            "use a little-endian machine, such as x86-64 or ARM64",
        )
    if sys.maxsize < 1 << 32:
        raise TaamctlError(
            "this Python is a 32-bit one, whose arrays end at 2 GiB",
            "install a 64-bit Python and taamctl in it",
        )


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on a system whose folders can be opened."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows: its file system keeps a journal of names
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
