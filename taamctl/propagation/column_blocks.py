"""Matrices [N, F] that are read and written by blocks of columns or by rows: in memory, or in a
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.errors import TaamctlError
from taamctl.core.rows import block_rows
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import to_scipy


class Blocks(Protocol):
    """A matrix [N, F] in blocks of `width` columns; the last one may have fewer."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return (N, F)."""

    @property
    def width(self) -> int:
        """Return the columns of a block."""

    def columns(self, at: int) -> Array:
        """Return the column block that begins at column `at`, C-contiguous."""

    def rows(self, low: int, high: int) -> Array:
        """Return rows [low, high), dense."""

    def write_columns(self, at: int, z: Array) -> None:
        """Replace the column block that begins at column `at`."""

    def write_rows(self, low: int, x: Array) -> None:
        """Replace consecutive rows from row `low` on."""


def by_rows(x: Blocks) -> Iterator[Array]:
    """Yield all rows, a few at a time."""
    n, step = x.shape[0], block_rows(x.shape[1])
    for low in range(0, n, step):
        yield x.rows(low, min(n, low + step))


def dense_rows(x: Array | CSR, low: int, high: int) -> Array:
    """Return rows [low, high) of a dense or a CSR matrix, dense."""
    if isinstance(x, CSR):
        return np.asarray(to_scipy(x.rows(low, high)).toarray())
    return x[low:high]


class ArrayBlocks:
    """A matrix in memory; CSR is only read."""

    def __init__(self, x: Array | CSR, width: int) -> None:
        self.x = x
        self.shape = (x.shape[0], x.shape[1])
        self.width = max(1, min(width, x.shape[1]))
        self._by_column = to_scipy(x).tocsc() if isinstance(x, CSR) else x

    def columns(self, at: int) -> Array:
        """Return a column block."""
        block = self._by_column[:, at : at + self.width]
        if not isinstance(block, np.ndarray):
            block = block.toarray()
        return np.ascontiguousarray(block, np.float32)

    def rows(self, low: int, high: int) -> Array:
        """Return some rows: a view where the matrix is dense."""
        return dense_rows(self.x, low, high)

    def write_columns(self, at: int, z: Array) -> None:
        """Replace a column block."""
        assert not isinstance(self.x, CSR)
        self.x[:, at : at + z.shape[1]] = z

    def write_rows(self, low: int, x: Array) -> None:
        """Replace some rows."""
        assert not isinstance(self.x, CSR)
        self.x[low : low + len(x)] = x


class FileBlocks:
    """A matrix inside a file that is open for reading and writing: column block after column
    block, each by rows.
    """

    def __init__(
        self,
        descriptor: int,
        shape: tuple[int, int],
        width: int,
        start: int = 0,
        dtype: DTypeLike = np.float32,
    ) -> None:
        """Lay a matrix into a file, from byte `start` on."""
        self.shape = shape
        self.width = width
        self._dtype = np.dtype(dtype)
        # No preadv: Windows has none. FileIO, unlike os.read, never takes bytes for text there.
        self._file = open(descriptor, "r+b", buffering=0, closefd=False)  # noqa: SIM115
        self._start = start

    def write_rows(self, low: int, x: Array) -> None:
        """Write some rows into all column blocks."""
        for at in range(0, self.shape[1], self.width):
            self._write(at, low, x[:, at : at + self.width])

    def write_columns(self, at: int, z: Array) -> None:
        """Write a whole column block."""
        self._write(at, 0, z)

    def columns(self, at: int) -> Array:
        """Read a whole column block."""
        return self._read(at, 0, self.shape[0])

    def rows(self, low: int, high: int) -> Array:
        """Gather some rows from all column blocks."""
        out = np.empty((high - low, self.shape[1]), self._dtype)
        for at in range(0, self.shape[1], self.width):
            out[:, at : at + self.width] = self._read(at, low, high)
        return out

    def _byte(self, at: int, low: int, width: int) -> int:
        return self._start + self._dtype.itemsize * (self.shape[0] * at + low * width)

    def _read(self, at: int, low: int, high: int) -> Array:
        out = np.empty((high - low, min(self.width, self.shape[1] - at)), self._dtype)
        left = _bytes(out)
        self._file.seek(self._byte(at, low, out.shape[1]))
        while len(left):
            got = self._file.readinto(left)
            if not got:
                raise TaamctlError(
                    "a scratch file ended early", "free some space, then run the same command again"
                )
            left = left[got:]
        return out

    def _write(self, at: int, low: int, block: Array) -> None:
        left = _bytes(np.ascontiguousarray(block, self._dtype))
        self._file.seek(self._byte(at, low, block.shape[1]))
        while len(left):
            left = left[self._file.write(left) :]


def _bytes(array: Array) -> memoryview:
    if not array.size:
        return memoryview(b"")  # a view without a byte cannot be cast
    return memoryview(array.data).cast("B")
