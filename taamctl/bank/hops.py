"""Hop features S^j X of a graph: in memory, or as column blocks on the disk where they do not fit.

Both give the same bits.

A column is propagated alone, so it is without meaning how many are propagated at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from taamctl.bank.graph_source import Query, normalised
from taamctl.core.errors import TaamctlError
from taamctl.core.memory import SLACK, used
from taamctl.core.types import Array
from taamctl.features.raw_features import Norm
from taamctl.propagation.backends import BACKENDS, Step
from taamctl.propagation.column_blocks import ArrayBlocks, Blocks, FileBlocks
from taamctl.propagation.operator import Operator
from taamctl.propagation.powers import BLOCK, write_hops
from taamctl.propagation.room import COPIES

# of one row block; fixed, because the last bits of a matrix product may depend on its size
ELEMENTS = 1 << 21


def row_block(num_features: int) -> int:
    """Return how many rows are predicted at once."""
    return max(64, min(4096, ELEMENTS // max(1, num_features) // 64 * 64))


class Hops:
    """S^j X of a graph for j = 0 and the wanted j."""

    def __init__(
        self,
        query: Query,
        norm: Norm,
        step: Step,
        hops: Mapping[int, Blocks],
        rows: int,
        files: Iterable[int] = (),
    ) -> None:
        """Read the raw features once, `rows` at a time, into `hops[0]`, and propagate them."""
        self._hops = hops
        self._files = files
        for low in range(0, query.num_nodes, rows):
            block = query.rows(low, min(query.num_nodes, low + rows))
            hops[0].write_rows(low, normalised(block, norm))
        write_hops(step, hops[0], {j: matrix for j, matrix in hops.items() if j})

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return rows [low, high) of S^hop X, [n, F] float32; in memory a view."""
        return self._hops[hop].rows(low, high)

    def close(self) -> None:
        """Close the files."""
        for descriptor in self._files:
            os.close(descriptor)


def in_memory(
    query: Query, norm: Norm, operator: Operator, wanted: Iterable[int], backend: str
) -> Hops:
    """Propagate in memory."""
    shape = (query.num_nodes, query.num_features)
    hops = {j: ArrayBlocks(np.empty(shape, np.float32), BLOCK) for j in {0, *wanted}}
    return Hops(query, norm, BACKENDS[backend](operator), hops, 4096)


def on_disk(
    folder: Path,
    query: Query,
    norm: Norm,
    operator: Operator,
    wanted: Iterable[int],
    backend: str,
    spare: int,
) -> Hops:
    """Propagate within `spare` bytes, in files of a folder: one per hop."""
    n, f = query.num_nodes, query.num_features
    width = max(1, min(BLOCK, f, spare // (4 * COPIES * max(1, n))))
    rows = max(1, min(4096, spare // (4 * 6 * max(1, f))))
    flags = os.O_RDWR | os.O_CREAT
    files = {j: os.open(folder / f"hop-{j}", flags, 0o600) for j in {0, *wanted}}
    hops = {j: FileBlocks(file, (n, f), width) for j, file in files.items()}
    return Hops(query, norm, BACKENDS[backend](operator), hops, rows, files.values())


@contextmanager
def open_hops(
    query: Query,
    norm: Norm,
    operator: Operator,
    wanted: Iterable[int],
    backend: str,
    limit: int | None,
    scratch: Path | None = None,
    per_node: int = 0,
    fixed: int = 0,
    held: int | None = None,
) -> Iterator[Hops]:
    """Yield the hop features of a graph: in memory where `limit` (bytes of the whole process)
    allows it, else on the disk.

    Args:
        per_node, fixed: bytes that the answers need per node, and whatever the nodes.
        scratch: where the temporary folder is made; None: where the system makes its own.
        held: bytes in use before an earlier graph, whose memory serves again: little is taken, as
            the system may not have it back; None: those in use now.

    Raises:
        TaamctlError: the limit does not even leave room for a few columns and one row block.
    """
    hops, n, f = sorted(set(wanted)), query.num_nodes, query.num_features
    again = held is not None
    if held is None:
        held = used()
    spare = None if limit is None else limit - held
    # while it propagates or predicts
    predicting = 4 * row_block(f) * f * 10 + 24 * operator.adjacency.nnz + per_node * n + SLACK
    predicting += fixed
    whole = 4 * n * (f * len({0, *hops}) + COPIES * min(f, BLOCK)) + predicting
    if spare is None or spare > whole:
        yield in_memory(query, norm, operator, hops, backend)
        return
    least = predicting + 4 * max(COPIES * n, 6 * f) * 8
    if spare < least:
        raise TaamctlError(
            f"{(limit or 0) >> 20} MiB of memory are too little for {n:,} nodes: {held >> 20} "
            f"MiB are in use, and {least >> 20} MiB more are needed",
            f"use --max-memory {(held + least >> 20) + 1}M or more",
        )
    if again:
        spare = least
    with tempfile.TemporaryDirectory(prefix="taamctl-", dir=scratch) as folder:
        made = on_disk(Path(folder), query, norm, operator, hops, backend, spare - predicting)
        try:
            yield made
        finally:
            made.close()
