"""Rows of a sparse matrix a range at a time, so that nothing wide is made of all its entries at
once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from taamctl.core.types import Array


def ranges(indptr: Array, entries: int) -> Iterator[tuple[int, int]]:
    """Yield consecutive row ranges [low, high) of at most `entries` entries and rows each, but
    of one row at least.
    """
    low, rows = 0, len(indptr) - 1
    while low < rows:
        high = int(np.searchsorted(indptr, indptr[low] + entries, side="right")) - 1
        high = min(rows, max(high, low + 1), low + entries)
        yield low, high
        low = high
