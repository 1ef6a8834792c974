"""Predictions of every stage, which grow with stages times nodes: in memory where they are few,
else in a nameless file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.slices import Slices
from taamctl.core.types import Array

FEW = 1 << 22  # predictions that are held in memory


def label_type(num_classes: int) -> type[np.int16 | np.int32]:
    """Return the smallest of the two types that holds the classes 0 to `num_classes` - 1."""
    if num_classes - 1 <= np.iinfo(np.int16).max:
        return np.int16
    return np.int32


class StageAnswers:
    """[T, N] classes; -1 where there is none.

    Args:
        shape: (T, N).
        kind: int16 or int32, which holds every class.
        folder: where the file goes if there are many; None: they are in memory, however many.
    """

    def __init__(self, shape: tuple[int, int], kind: DTypeLike, folder: Path | None = None) -> None:
        self.shape = shape
        self._kind = np.dtype(kind)
        self._stored = np.dtype(f"u{self._kind.itemsize}")  # of one more than a class, from 0
        self._held: Array | None = None
        if folder is None or shape[0] * shape[1] <= FEW:
            self._held = np.full(shape, -1, kind)
        else:
            self._file = TemporaryFile(dir=folder, prefix=".answers-")  # noqa: SIM115

    def put(self, stage: int, columns: slice, labels: Array) -> None:
        """Set the predictions of some nodes at a stage."""
        if self._held is not None:
            self._held[stage, columns] = labels
            return
        # One more than the class: what is not written reads as 0, which is no class.
        self._file.seek(self._kind.itemsize * (stage * self.shape[1] + columns.start))
        self._file.write(np.ascontiguousarray(labels + 1, self._stored).data)

    def rows(self) -> Iterator[Array]:
        """Yield the predictions of one stage after the other, [1, N] each."""
        count = self.shape[1]
        length = self._kind.itemsize * count
        for stage in range(self.shape[0]):
            if self._held is not None:
                yield self._held[stage : stage + 1]
                continue
            self._file.seek(length * stage)
            found = np.frombuffer(self._file.read(length), self._stored)
            row = np.full((1, count), -1, self._kind)
            row[0, : len(found)] = found.astype(np.int64) - 1
            yield row

    def array(self) -> Array:
        """Return all of them, [T, N]."""
        return np.concatenate([np.zeros((0, self.shape[1]), self._kind), *self.rows()])

    def slices(self) -> Slices:
        """Return them as rows to be written."""
        return Slices(self.shape, self.rows, self._kind.name)
