"""Gzipped files that would fill the memory: counted before anything of them is kept."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import DEFLATE, free_memory
from taamctl.core.units import format_bytes

_CHUNK = 1 << 20


def require_room_unpacked(path: Path) -> None:
    """Refuse a gzipped file that holds more than the memory that is free.

    Only a file that could, by its size, is gone through once.

    Raises:
        TaamctlError: it does.
        OSError, EOFError: it is damaged.
    """
    about, free = path.stat(), free_memory()
    if about.st_size * DEFLATE <= free:
        return
    if _holds_more(path, about.st_size, about.st_mtime_ns, free >> 20):
        raise TaamctlError(
            f"{path} holds more than {format_bytes(free)}, packed in {format_bytes(about.st_size)}",
            "that much memory is free; the file is made to fill it, or needs a larger machine",
        )


@lru_cache(maxsize=16)  # a file is opened several times
def _holds_more(path: Path, size: int, changed: int, most: int) -> bool:
    """Tell whether a file holds more than so many MiB."""
    count = 0
    with gzip.open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            count += len(chunk)
            if count > most << 20:
                return True
    return False
