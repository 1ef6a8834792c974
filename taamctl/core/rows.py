"""Feature rows that come a few at a time: what a data set offers whose features need not be in memory at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array

BLOCK_BYTES = 1 << 22  # of one block of rows, about


@dataclass(frozen=True)
class FeatureRows:
    """The features of all nodes as consecutive row blocks in node order, read once.

    Attributes:
        shape: (N, F).
        make: begins the pass: blocks [n, F] float32, all of them dense or all CSR.
        whole: all rows, where they are in memory anyway.
    """

    shape: tuple[int, int]
    make: Callable[[], Iterable[Array | CSR]]
    whole: Array | CSR | None = None

    def __iter__(self) -> Iterator[Array | CSR]:
        """Yield the blocks.

        Raises:
            TaamctlError: they are of another width, or not N rows in all.
        """
        rows, (n, f) = 0, self.shape
        for block in self.make():
            rows += block.shape[0]
            if block.shape[1] != f or rows > n:
                rows = -1
                break
            yield block
        if rows != n:
            raise TaamctlError(f"the features should be {n:,} rows of {f}, but are not",
                               "its data set's features() and load() must say the same")


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
