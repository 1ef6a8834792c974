"""Raw features in memory: picked by rows, and normalised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from taamctl.core.ranges import ranges
from taamctl.core.rows import block_rows
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import to_scipy
from taamctl.propagation.column_blocks import ArrayBlocks, Blocks, dense_rows
from taamctl.propagation.operator import RANGE
from taamctl.propagation.powers import BLOCK
from taamctl.propagation.room import Room

ROWS = 4096  # nodes whose features are made dense at once
Norm = str | Array  # `none`, `row`, or [F] float32 sizes of the features


def normalise(features: Array | CSR, how: Norm) -> Array | CSR:
    """Return features divided by their row sums (`row`), by the sizes given, or as they are
    (`none`); an all-zero row stays zero.
    """
    if not isinstance(how, str):
        return _divided(features, how)
    if how == "none":
        return features
    if isinstance(features, CSR):
        return CSR(features.indptr, features.indices, _shares(features), features.shape)
    out = np.empty(features.shape, np.float32)
    step = block_rows(features.shape[1])
    for low in range(0, len(features), step):
        # float64 first: a sum that casts on its way may depend on how many rows there are
        exact = features[low : low + step].astype(np.float64)
        out[low : low + step] = _divide(exact, exact.sum(axis=1)[:, None])
    return out


def _divided(features: Array | CSR, sizes: Array) -> Array | CSR:
    """Return every feature divided by its size: exact, as sizes are powers of two."""
    if not isinstance(features, CSR):
        return features / sizes
    data = 1 / sizes[features.indices]
    if features.data is not None:
        data = features.data * data
    return CSR(features.indptr, features.indices, data, features.shape)


def _shares(features: CSR) -> Array:
    """Return every stored value (1 where none is stored) divided by the sum of its row."""
    out = np.empty(features.nnz, np.float32)
    pointer = features.indptr
    for low, high in ranges(pointer, RANGE):
        first = int(pointer[low])
        last = int(pointer[high])
        values = np.ones(last - first)
        if features.data is not None:
            values = features.data[first:last].astype(np.float64)
        rows = np.repeat(np.arange(high - low), np.diff(pointer[low : high + 1]))
        out[first:last] = _divide(values, np.bincount(rows, values, high - low)[rows])
    return out


def _divide(values: Array, sums: Array) -> Array:
    zeros = np.zeros(values.shape, np.float64)
    return np.divide(values, sums, out=zeros, where=sums != 0).astype(np.float32)


def take_rows(features: Array | CSR, rows: Array) -> Array | CSR:
    """Return the features of the given nodes, in that order."""
    if not isinstance(features, CSR):
        return features[rows]
    ones = features.data is None
    m = to_scipy(features, np.int8 if ones else np.float32)[rows]
    return CSR(
        m.indptr.astype(np.int64),
        m.indices.astype(np.int32, copy=False),
        None if ones else m.data,
        (len(rows), features.shape[1]),
    )


def in_memory(raw: Array | CSR, nodes: Array, norm: Norm) -> ArrayBlocks:
    """Return the normalised features of some nodes."""
    return ArrayBlocks(normalise(take_rows(raw, nodes), norm), BLOCK)


def raw_rows(raw: Array | CSR, nodes: Array, norm: Norm) -> Iterator[tuple[int, Array]]:
    """Yield the normalised features of some nodes, dense, `ROWS` nodes at a time; beside them the
    place of the first one.
    """
    for low in range(0, len(nodes), ROWS):
        block = normalise(take_rows(raw, nodes[low : low + ROWS]), norm)
        yield low, dense_rows(block, 0, block.shape[0])


@contextmanager
def in_room(
    room: Room, raw: Array | CSR, nodes: Array, norm: Norm, columns: int | None
) -> Iterator[Blocks]:
    """Yield the normalised features of some nodes.

    Args:
        columns: as `room.columns` returned.
    """
    if columns is None:
        yield in_memory(raw, nodes, norm)
        return
    with room.matrix((len(nodes), raw.shape[1]), np.float32, columns) as x:
        for low, block in raw_rows(raw, nodes, norm):
            x.write_rows(low, block)
        yield x


def empty_like(x: ArrayBlocks) -> ArrayBlocks:
    """Return a matrix of the same shape for what is made of it."""
    return ArrayBlocks(np.empty(x.shape, np.float32), BLOCK)
