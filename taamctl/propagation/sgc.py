"""Raw features, picked by rows and normalised; and H = S^k X of one graph that is in memory, of
which nothing else is asked.

`precompute` goes through `group.compute`, which takes hop means and profiles from the same pass
over the columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from taamctl.core.progress import SILENT, Progress
from taamctl.core.ranges import ranges
from taamctl.core.rows import block_rows
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import to_scipy
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import RANGE, Operator

BLOCK = 256  # columns: the working set is a few N x BLOCK arrays, whatever F is


def normalise(features: Array | CSR, how: str) -> Array | CSR:
    """Return features divided by their row sums (`row`) or as they are (`none`); an all-zero row
    stays zero.
    """
    if how == "none":
        return features
    if isinstance(features, CSR):
        return CSR(features.indptr, features.indices, _shares(features), features.shape)
    out, step = np.empty(features.shape, np.float32), block_rows(features.shape[1])
    for low in range(
        0, len(features), step
    ):  # float64 first: a sum that casts on its way may depend on how many rows there are
        exact = features[low : low + step].astype(np.float64)
        out[low : low + step] = _divide(exact, exact.sum(axis=1)[:, None])
    return out


def _shares(features: CSR) -> Array:
    """Return every stored value (1 where none is stored) divided by the sum of its row."""
    out, pointer = np.empty(features.nnz, np.float32), features.indptr
    for low, high in ranges(pointer, RANGE):
        first, last = int(pointer[low]), int(pointer[high])
        values = (
            np.ones(last - first)
            if features.data is None
            else features.data[first:last].astype(np.float64)
        )
        rows = np.repeat(np.arange(high - low), np.diff(pointer[low : high + 1]))
        out[first:last] = _divide(values, np.bincount(rows, values, high - low)[rows])
    return out


def _divide(values: Array, sums: Array) -> Array:
    return np.divide(values, sums, out=np.zeros(values.shape, np.float64), where=sums != 0).astype(
        np.float32
    )


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


def propagate(
    operator: Operator, features: Array | CSR, hops: int, backend: str, progress: Progress = SILENT
) -> Array:
    """Return S^hops X.

    H = S (S (... X)); rows receive. Source: Wu et al. (2019), simplified graph convolution; TAAM
    (2026), Eq. 1.

    Args:
        operator: S over N rows.
        features: [N, F] float32, dense or CSR, rows in the operator's order.
        hops: k >= 0.
        backend: a key of `BACKENDS`.

    Returns:
        [N, F] float32.
    """
    n, f = features.shape
    step = BACKENDS[backend](operator)
    columns: Any = to_scipy(features).tocsc() if isinstance(features, CSR) else features
    out = np.empty((n, f), np.float32)
    progress.start("propagate", -(-f // BLOCK))
    for low in range(0, f, BLOCK):
        block = columns[:, low : low + BLOCK]
        z = np.ascontiguousarray(
            block.toarray() if isinstance(features, CSR) else block, np.float32
        )
        for _ in range(hops):
            z = step(z)
        out[:, low : low + BLOCK] = z
        progress.advance()
    progress.finish()
    return out
