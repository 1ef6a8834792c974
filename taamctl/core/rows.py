"""Feature rows that come a few at a time: what a data set offers whose features need not be in
memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array

KINDS = ("dense float32", "CSR", "CSR without values")
HINT = "its data set's features() and load() must say the same"
BLOCK_BYTES = 1 << 22  # of one block of rows, about


@dataclass(frozen=True)
class FeatureRows:
    """The features of all nodes as consecutive row blocks in node order.

    Attributes:
        shape: (N, F).
        make: begins a pass: blocks [n, F] float32, all of them dense, all CSR, or all CSR without
            values (each is 1). Where memory is limited CSR rows are gone over twice, so that every
            call has to begin anew.
        whole: all rows, where they are in memory anyway.
    """

    shape: tuple[int, int]
    make: Callable[[], Iterable[Array | CSR]]
    whole: Array | CSR | None = None

    def __iter__(self) -> Iterator[Array | CSR]:
        """Yield the blocks.

        Raises:
            TaamctlError: they are of another width or type, of several kinds, or not N rows in all.
        """
        rows, (n, f), first = 0, self.shape, ""
        for block in self.make():
            kind = _kind(block)
            first = first or kind
            if kind != first or kind not in KINDS:
                raise TaamctlError(
                    f"the features should be float32 and of one kind, but rows from {rows:,} on "
                    f"are {kind}" + (f", those before {first}" if kind != first else ""),
                    HINT,
                )
            rows += block.shape[0]
            if block.shape[1] != f or rows > n:
                rows = -1
                break
            yield block
        if rows != n:
            raise TaamctlError(f"the features should be {n:,} rows of {f}, but are not", HINT)

    def lengths(self, tick: Callable[[], None] = lambda: None) -> Array | None:
        """Return how many values every row stores, [N] int64, from a pass of its own; None where
        rows are dense, seen at the first block.

        Args:
            tick: called again and again; may raise to stop.
        """
        if self.whole is not None:
            return np.diff(self.whole.indptr) if isinstance(self.whole, CSR) else None
        found = [np.zeros(0, np.int64)]
        for block in self:
            if not isinstance(block, CSR):
                return None
            found.append(np.diff(block.indptr))
            tick()
        return np.concatenate(found)


def _kind(block: Array | CSR) -> str:
    """Name what a block is made of; a CSR checks its own types."""
    if isinstance(block, CSR):
        return KINDS[1] if block.data is not None else KINDS[2]
    return f"dense {block.dtype}"


def block_rows(num_features: int) -> int:
    """Return how many dense rows make a block."""
    return max(1, BLOCK_BYTES // (4 * max(1, num_features)))


def of_whole(x: Array | CSR) -> FeatureRows:
    """Return features in memory as row blocks, which are views."""
    n, step = x.shape[0], block_rows(x.shape[1])

    def make() -> Iterator[Array | CSR]:
        for low in range(0, n, step):
            high = min(n, low + step)
            yield x.rows(low, high) if isinstance(x, CSR) else x[low:high]

    return FeatureRows((n, x.shape[1]), make, x)
