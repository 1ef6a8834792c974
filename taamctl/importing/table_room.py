"""Whether a table fits into memory, asked before it is read: a few bytes of a compressed file can
state more rows than any machine holds.
"""

from __future__ import annotations

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import free_memory

CELL = 8  # bytes, at least, of a number or of a reference to a text


def require_room(rows: int, columns: int, where: str) -> None:
    """Make sure that a table of so many cells fits into the memory that is free now.

    Raises:
        TaamctlError: it does not.
    """
    need, free = rows * columns * CELL, free_memory()
    if need > free:
        raise TaamctlError(
            f"{where} states {rows:,} rows of {columns:,} columns: at least {need / 2**30:,.1f} "
            f"GiB, where {free / 2**30:,.1f} GiB of memory are free",
            "the file is damaged, or too large for this machine; leave out rows or columns",
        )
