"""The working memory of OpenBLAS, which NumPy and SciPy bring one each: taken before there is work.

OpenBLAS takes a buffer with its first product and keeps it. Where there is no memory for one,
NumPy's ends the process in the middle of the work, and SciPy's tries for ever.
"""

from __future__ import annotations

import mmap
from functools import cache

ROOM = 64 << 20  # bytes: a buffer has 32 MiB, and something has to be left beside it
WIDTH = 256  # of a product that needs a buffer: small ones may go without


@cache
def take_for_numpy() -> None:
    """Let NumPy's OpenBLAS take its buffer.

    Raises:
        MemoryError: there is no room for it.
    """
    import numpy as np

    _require_room()
    square = np.ones((WIDTH, WIDTH))
    np.dot(square, square)
    np.linalg.solve(np.eye(WIDTH), square)


@cache
def take_for_scipy() -> None:
    """Do the same with SciPy's.

    Raises:
        MemoryError: there is no room for it.
    """
    import numpy as np
    from scipy.linalg.blas import dgemm

    _require_room()
    square = np.ones((WIDTH, WIDTH))
    dgemm(1.0, square, square)


def _require_room() -> None:
    try:
        mmap.mmap(-1, ROOM).close()
    except OSError as error:
        raise MemoryError("no room for the buffer of a matrix product") from error
