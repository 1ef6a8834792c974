"""Where large matrices lie that live for a moment: in memory, or in nameless files where a limit
leaves no room for them.

No bit depends on it: a column is propagated alone, and rows are read as they were written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.late_torch import torch
from taamctl.core.memory import SLACK, used
from taamctl.core.rows import block_rows
from taamctl.core.types import Array
from taamctl.propagation.column_blocks import ArrayBlocks, Blocks, FileBlocks
from taamctl.propagation.powers import BLOCK

# arrays of N x columns that exist while a block is propagated in float32, as measured with what the
# sparse product keeps
COPIES = 10
LEAST = 8  # columns at once, however little room there is


class StoredRows:
    """The rows of a matrix as tensors, some at a time: what sums read of a hop.

    Args:
        count: so many rows alone, the first ones; None: all.
    """

    def __init__(self, blocks: Blocks, count: int | None = None) -> None:
        self._blocks = blocks
        rows, columns = blocks.shape
        self.shape = (rows, columns)
        if count is not None:
            self.shape = (count, columns)

    def first(self, count: int) -> StoredRows:
        """Return the first rows alone."""
        return StoredRows(self._blocks, count)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: slice | torch.Tensor) -> torch.Tensor:
        """Return a range of rows, or rows by their numbers."""
        if isinstance(at, slice):
            low, high, _ = at.indices(len(self))
            return torch.from_numpy(self._blocks.rows(low, high))
        return torch.from_numpy(self._some(at.numpy()))

    def _some(self, at: Array) -> Array:
        """Return some rows, [K, F], from as many others as lie between them, a few at a time."""
        order = np.argsort(at, kind="stable")
        wanted, step = at[order], block_rows(self.shape[1])
        out = np.empty((len(at), self.shape[1]), self._blocks.rows(0, 0).dtype)
        first = 0
        while first < len(at):
            low = int(wanted[first])
            high = min(len(self), low + step)
            last = int(np.searchsorted(wanted, high))
            out[order[first:last]] = self._blocks.rows(low, high)[wanted[first:last] - low]
            first = last
        return out


class SomeRows:
    """Some of these rows, in an order of their own, read as they are."""

    def __init__(self, rows: StoredRows, at: Array) -> None:
        self._rows, self._at = rows, at
        self.shape = (len(at), rows.shape[1])

    def __len__(self) -> int:
        return len(self._at)

    def __getitem__(self, at: slice | torch.Tensor) -> torch.Tensor:
        """Return a range of rows, or rows by their numbers."""
        where = at if isinstance(at, slice) else at.numpy()
        return self._rows[torch.from_numpy(self._at[where])]


@dataclass(frozen=True)
class Room:
    """How much memory there is.

    Attributes:
        limit: bytes that the whole process may have; None: as many as it takes.
        beside: bytes that are needed beside the matrices, for sums and their regression.
    """

    limit: int | None = None
    beside: int = 0

    def columns(self, whole: int, each: int) -> int | None:
        """Return how many columns are worked on at once, the matrices being in files; None: they
        are in memory.

        Args:
            whole: bytes that it takes in memory. each: bytes per column that is worked on.
        """
        if self.limit is None:
            return None
        spare = self.limit - used() - SLACK - self.beside
        if whole <= spare:
            return None
        return max(LEAST, min(BLOCK, spare // max(1, each)))

    @contextmanager
    def matrix(
        self, shape: tuple[int, int], dtype: DTypeLike, columns: int | None
    ) -> Iterator[Blocks]:
        """Yield a matrix to fill, which lives as long as the body.

        Args:
            columns: as `columns` returned.
        """
        if columns is None:
            yield ArrayBlocks(np.empty(shape, dtype), BLOCK)
            return
        with TemporaryFile(prefix="taamctl-") as file:
            yield FileBlocks(file.fileno(), shape, max(1, min(columns, shape[1])), dtype=dtype)


UNLIMITED = Room()
