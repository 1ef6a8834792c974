"""Hop features S^j X of a graph: in memory, or as column blocks on the disk where they do not fit.

Both give the same bits.

A column is propagated alone, so it is without meaning how many are propagated at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

from taamctl.bank.graph_source import Query, normalised
from taamctl.core.errors import TaamctlError
from taamctl.core.memory import SLACK, used
from taamctl.core.types import Array
from taamctl.features.scratch import ColumnBlocks
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import Operator

WIDTH = 256  # columns that are propagated at once where memory is not limited
# arrays of N x columns that exist while a block is propagated, as measured with what the sparse
# product keeps
COPIES = 10
ELEMENTS = (
    1 << 21
)  # of one row block; fixed, because the last bits of a matrix product may depend on its size


def row_block(num_features: int) -> int:
    """Return how many rows are predicted at once."""
    return max(64, min(4096, ELEMENTS // max(1, num_features) // 64 * 64))


class HopRows(Protocol):
    """Hop features, a few rows at a time."""

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return rows [low, high) of S^hop X, [n, F] float32."""


class Held:
    """Hop features in memory."""

    def __init__(
        self, query: Query, norm: str, operator: Operator, wanted: Iterable[int], backend: str
    ) -> None:
        self._query, self._norm = query, norm
        n, f = query.num_nodes, query.num_features
        self._hops = {j: np.empty((n, f), np.float32) for j in sorted(set(wanted)) if j}
        step = BACKENDS[backend](operator)
        x = np.empty((n, f), np.float32)
        for low in range(0, n, 4096):
            x[low : low + 4096] = normalised(query.rows(low, min(n, low + 4096)), norm)
        self._x = x
        for at in range(0, f, WIDTH):
            for j, z in _hops_of(np.ascontiguousarray(x[:, at : at + WIDTH]), step, self._hops):
                self._hops[j][:, at : at + WIDTH] = z

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return a view of some rows."""
        return self._hops[hop][low:high] if hop else self._x[low:high]


class Scratch:
    """Hop features in a temporary folder: one file per hop, column block after column block."""

    def __init__(
        self,
        folder: Path,
        query: Query,
        norm: str,
        operator: Operator,
        wanted: Iterable[int],
        backend: str,
        spare: int,
    ) -> None:
        n, f = query.num_nodes, query.num_features
        width = max(1, min(WIDTH, f, spare // (4 * COPIES * max(1, n))))
        hops = sorted({0, *wanted})
        self._files = {j: os.open(folder / f"hop-{j}", os.O_RDWR | os.O_CREAT, 0o600) for j in hops}
        self._hops = {j: ColumnBlocks(file, (n, f), width) for j, file in self._files.items()}
        self._cut(query, norm, max(1, min(4096, spare // (4 * 6 * max(1, f)))))
        step = BACKENDS[backend](operator)
        for at in range(0, f, width):
            for j, z in _hops_of(self._hops[0].columns(at), step, {j for j in hops if j}):
                self._hops[j].write_columns(at, z)

    def _cut(self, query: Query, norm: str, rows: int) -> None:
        """Read the raw features once, and write them as column blocks."""
        for low in range(0, query.num_nodes, rows):
            self._hops[0].write_rows(
                low, normalised(query.rows(low, min(query.num_nodes, low + rows)), norm)
            )

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Gather some rows from all column blocks."""
        return self._hops[hop].rows(low, high)

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._files.values():
            os.close(descriptor)


def _hops_of(
    x: Array, step: Callable[[Array], Array], wanted: Iterable[int]
) -> Iterator[tuple[int, Array]]:
    """Yield (j, S^j X) of some columns for the wanted j > 0, in order."""
    chosen, z = set(wanted), x
    for j in range(1, max(chosen, default=0) + 1):
        z = step(z)
        if j in chosen:
            yield j, z


@contextmanager
def open_hops(
    query: Query,
    norm: str,
    operator: Operator,
    wanted: Iterable[int],
    backend: str,
    limit: int | None,
    scratch: Path | None = None,
    per_node: int = 0,
) -> Iterator[HopRows]:
    """Yield the hop features of a graph: in memory where `limit` (bytes of the whole process)
    allows it, else on the disk.

    Args:
        per_node: bytes that the answers need per node.
        scratch: where the temporary folder is made; None: where the system makes its own.

    Raises:
        TaamctlError: the limit does not even leave room for a few columns and one row block.
    """
    hops, n, f = sorted(set(wanted)), query.num_nodes, query.num_features
    spare = None if limit is None else limit - used()
    predicting = (
        4 * row_block(f) * f * 10 + 24 * operator.adjacency.nnz + per_node * n + SLACK
    )  # while it propagates or predicts
    if (
        spare is None
        or spare
        > 4 * n * (f * (1 + len([j for j in hops if j])) + COPIES * min(f, WIDTH)) + predicting
    ):
        yield Held(query, norm, operator, hops, backend)
        return
    least = predicting + 4 * max(COPIES * n, 6 * f) * 8
    if spare < least:
        raise TaamctlError(
            f"{(limit or 0) >> 20} MiB of memory are too little for {n:,} nodes: {used() >> 20} "
            f"MiB are in use, and {least >> 20} MiB more are needed",
            f"use --max-memory {(used() + least >> 20) + 1}M or more",
        )
    with tempfile.TemporaryDirectory(prefix="taamctl-", dir=scratch) as folder:
        made = Scratch(Path(folder), query, norm, operator, hops, backend, spare - predicting)
        try:
            yield made
        finally:
            made.close()
