"""S^k X: the one loop over hops, and the one walk over blocks of columns, in memory or on disk.

A column is propagated on its own, so no bit depends on how many are propagated at once. Source:
Wu et al. (2019), simplified graph convolution; TAAM (2026), Eq. 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.propagation.backends import BACKENDS, Step
from taamctl.propagation.column_blocks import ArrayBlocks, Blocks
from taamctl.propagation.operator import Operator

BLOCK = 256  # columns: the working set is a few N x BLOCK arrays, whatever F is
Matrix = TypeVar("Matrix")


def powers(step: Callable[[Matrix], Matrix], z: Matrix, hops: int) -> Iterator[Matrix]:
    """Yield Z, S Z, ..., S^hops Z for a step Z -> S Z of any precision."""
    yield z
    for _ in range(hops):
        z = step(z)
        yield z


def power(step: Callable[[Matrix], Matrix], z: Matrix, hops: int) -> Matrix:
    """Return S^hops Z."""
    for _ in range(hops):
        z = step(z)
    return z


def write_hops(
    step: Step,
    x: Blocks,
    out: Mapping[int, Blocks],
    begin: Callable[[int, Array], None] = lambda at, z: None,
    tick: Callable[[], None] = lambda: None,
) -> None:
    """Write S^j X into `out[j]`, a block of columns at a time.

    Args:
        begin: gets every block of X with its first column, before anything is written.
        tick: called after every step; may raise to stop.
    """
    last = max(out, default=0)
    for at in range(0, x.shape[1], x.width):
        for j, z in enumerate(powers(step, x.columns(at), last)):
            if not j:
                begin(at, z)
            if j in out:
                out[j].write_columns(at, z)
            tick()


def hop_matrices(
    operator: Operator, x: Array | CSR, wanted: Iterable[int], backend: str
) -> dict[int, Array]:
    """Return j -> S^j X in ascending order of j, [N, F] float32 each.

    Args:
        x: [N, F] float32, rows in the operator's order.
        backend: a key of `BACKENDS`.
    """
    out = {j: ArrayBlocks(np.empty(x.shape, np.float32), BLOCK) for j in sorted(set(wanted))}
    write_hops(BACKENDS[backend](operator), ArrayBlocks(x, BLOCK), out)
    return {j: np.asarray(matrix.x) for j, matrix in out.items()}
