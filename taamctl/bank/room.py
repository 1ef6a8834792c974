"""Where the large matrices of a bank's change lie: in memory, or in nameless files where a limit
leaves no room for them.

No bit depends on it: a column is propagated alone, and rows are read as they were written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile

import numpy as np
import torch
from numpy.typing import DTypeLike

from taamctl.bank.graph_source import Source
from taamctl.core.memory import SLACK, used
from taamctl.core.types import Array
from taamctl.features.profiles import ROWS
from taamctl.features.raw_features import Norm, in_memory, normalise, take_rows
from taamctl.propagation.column_blocks import ArrayBlocks, Blocks, FileBlocks, dense_rows
from taamctl.propagation.powers import BLOCK

LEAST = 8  # columns at once, however little room there is


class StoredRows:
    """The rows of a matrix as tensors, some at a time: what sums read of a hop."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self.shape = blocks.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, at: slice | torch.Tensor) -> torch.Tensor:
        """Return a range of rows; or rows by their numbers, ascending, one at least."""
        if isinstance(at, slice):
            low, high, _ = at.indices(len(self))
            return torch.from_numpy(self._blocks.rows(low, high))
        first = int(at[0])
        return torch.from_numpy(self._blocks.rows(first, int(at[-1]) + 1))[at - first]


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

    @contextmanager
    def raw(self, source: Source, ids: Array, norm: Norm, columns: int | None) -> Iterator[Blocks]:
        """Yield the features of some nodes, normalised."""
        if columns is None:
            yield in_memory(source.graph.features, ids, norm)
            return
        shape = (len(ids), source.graph.num_features)
        with self.matrix(shape, np.float32, columns) as x:
            for low, block in raw_rows(source, ids, norm):
                x.write_rows(low, block)
            yield x


UNLIMITED = Room()


def raw_rows(source: Source, ids: Array, norm: Norm) -> Iterator[tuple[int, Array]]:
    """Yield the features of some nodes, normalised and dense, `ROWS` nodes at a time; beside them
    the place of the first one.
    """
    for low in range(0, len(ids), ROWS):
        block = normalise(take_rows(source.graph.features, ids[low : low + ROWS]), norm)
        yield low, dense_rows(block, 0, block.shape[0])
