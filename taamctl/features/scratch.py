"""A matrix on the disk in blocks of columns: written and read by rows or by blocks of columns."""

from __future__ import annotations

import os

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array


class ColumnBlocks:
    """[N, F] float32 inside a file that is open for reading and writing: column block after
    column block, each by rows.
    """

    def __init__(self, descriptor: int, shape: tuple[int, int], width: int, start: int = 0) -> None:
        """Lay a matrix into a file.

        Args:
            width: columns of a block; the last one may have fewer.
            start: byte at which it begins; it takes 4 N F bytes.
        """
        self.shape, self.width = shape, width
        self._file, self._start = descriptor, start

    def write_rows(self, low: int, x: Array) -> None:
        """Write consecutive rows from row `low` on, [n, F] float32."""
        n, f = self.shape
        for at in range(0, f, self.width):
            block = np.ascontiguousarray(x[:, at : at + self.width])
            _write(self._file, block, self._start + 4 * (n * at + low * block.shape[1]))

    def write_columns(self, at: int, z: Array) -> None:
        """Write the whole column block that begins at column `at`."""
        _write(self._file, z, self._start + 4 * self.shape[0] * at)

    def columns(self, at: int) -> Array:
        """Read the whole column block that begins at column `at`, [N, up to width]."""
        return self._read(at, 0, self.shape[0])

    def rows(self, low: int, high: int) -> Array:
        """Gather rows [low, high) from all column blocks, [n, F]."""
        out = np.empty((high - low, self.shape[1]), np.float32)
        for at in range(0, self.shape[1], self.width):
            out[:, at : at + self.width] = self._read(at, low, high)
        return out

    def _read(self, at: int, low: int, high: int) -> Array:
        width = min(self.width, self.shape[1] - at)
        out = np.empty((high - low, width), np.float32)
        left = memoryview(out.data).cast("B") if out.size else memoryview(b"")
        offset = self._start + 4 * (self.shape[0] * at + low * width)
        while len(left):
            got = os.preadv(self._file, [left], offset)
            if not got:
                raise TaamctlError(
                    "a scratch file ended early", "free some space, then run the same command again"
                )
            left, offset = left[got:], offset + got
        return out


def _write(descriptor: int, array: Array, offset: int) -> None:
    left = memoryview(np.ascontiguousarray(array).data).cast("B") if array.size else memoryview(b"")
    while len(left):
        done = os.pwrite(descriptor, left, offset)
        left, offset = left[done:], offset + done
