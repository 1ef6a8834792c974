"""The normalised adjacency S = D^-1/2 (A + I) D^-1/2 of induced subgraphs: what it is, and its
products with vectors.

Nothing here holds more than a few numbers per entry at once: what is wide goes over ranges of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.ranges import ranges
from taamctl.core.types import CSR, Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# entries of one range of rows; fixed, because sums over ranges depend on where they are cut
RANGE = 1 << 20
NO_PAIRS = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Operator:
    """S over grouped rows, block-diagonal.

    Attributes:
        adjacency: A with self-loops added; `data` holds multiplicities (1, or 2 where a loop was
            there before), None where all are 1.
        degree: [N] float64 row sums of it, at least 1.
    """

    adjacency: CSR
    degree: Array

    @property
    def inverse_root(self) -> Array:
        """Return D^-1/2 as [N] float64."""
        return 1.0 / np.sqrt(self.degree)

    def values(self, dtype: DTypeLike = np.float32) -> Array:
        """Return the entries of S in the order of `adjacency.indices`, rounded once from
        float64.
        """
        pointer, d = self.adjacency.indptr, self.inverse_root
        out = np.empty(self.adjacency.nnz, dtype)
        for low, high in ranges(pointer, RANGE):
            out[pointer[low] : pointer[high]] = self._entries(low, high, d)
        return out

    def _entries(self, low: int, high: int, d: Array) -> Array:
        """Return the entries of rows [low, high), float64; d is D^-1/2."""
        a = self.adjacency
        first, last = int(a.indptr[low]), int(a.indptr[high])
        receiver = np.repeat(d[low:high], np.diff(a.indptr[low : high + 1]))
        exact: Array = receiver * d[a.indices[first:last]]
        if a.data is not None:
            exact *= a.data[first:last]
        return exact

    def exact_step(self, z: Array) -> Array:
        """Return S Z, [N, B] or [N] float64, a range of rows at a time: no more of S is held, and
        the bits are those of the whole matrix.
        """
        import scipy.sparse as sp

        d, out = self.inverse_root, np.empty(z.shape)
        for low, high in ranges(self.adjacency.indptr, RANGE):
            rows = self.adjacency.rows(low, high)
            entries = (self._entries(low, high, d), rows.indices, rows.indptr)
            out[low:high] = sp.csr_matrix(entries, shape=rows.shape) @ z
        return out

    def scipy(self, dtype: DTypeLike = np.float64) -> csr_matrix:
        """Return S as a scipy CSR matrix."""
        import scipy.sparse as sp

        return sp.csr_matrix(
            (self.values(dtype), self.adjacency.indices, self.adjacency.indptr),
            shape=self.adjacency.shape,
        )

    def times(
        self, v: Array, *, transposed: bool = False, pairs: tuple[Array, Array] = NO_PAIRS
    ) -> Array:
        """Return S v, or S^T v, in float64 and without the values of S.

        Args:
            v: [N] or [N, B] float64.
            transposed: multiply by S^T.
            pairs: entries (row, column) that A has besides; the degree does not count them.

        Returns:
            As `v`; the same bits whatever else is multiplied beside a column.
        """
        d = self.inverse_root.reshape(-1, *(1,) * (v.ndim - 1))
        u = d * v
        out = np.zeros(v.shape)
        for low, high, block in _blocks(self.adjacency):
            if transposed:
                out += block.T @ u[low:high]
            else:
                out[low:high] = block @ u
        rows, columns = pairs[::-1] if transposed else pairs
        np.add.at(out, rows, u[columns])
        return np.asarray(d * out)


def _blocks(a: CSR) -> Iterator[tuple[int, int, csr_matrix]]:
    """Yield (low, high, rows [low, high) as a float64 scipy matrix)."""
    import scipy.sparse as sp

    for low, high in ranges(a.indptr, RANGE):
        rows = a.rows(low, high)
        data = np.ones(rows.nnz) if rows.data is None else rows.data.astype(np.float64)
        pointer = rows.indptr.astype(np.int32)
        yield low, high, sp.csr_matrix((data, rows.indices, pointer), shape=rows.shape)


def with_self_loops(edges: CSR, policy: str) -> CSR:
    """Give every node its self-loop, after induction.

    Args:
        edges: [N, N] binary.
        policy: `add` puts one loop more (weight 2 where one was stored), `reset` makes it exactly
            one.
    """
    n, pointer = edges.shape[0], edges.indptr
    has_loop = np.zeros(n, bool)
    lower = np.zeros(n, np.int64)  # entries left of the diagonal
    for low, high in ranges(pointer, RANGE):
        columns, rows = edges.indices[pointer[low] : pointer[high]], _rows(pointer, low, high)
        has_loop[rows[rows == columns]] = True
        lower[low:high] = np.bincount(rows[columns < rows] - low, minlength=high - low)
    indptr = pointer + np.concatenate([[0], np.cumsum(~has_loop)])
    indices = np.empty(int(indptr[-1]), np.int32)
    for low, high in ranges(pointer, RANGE):
        first = int(pointer[low])
        missing = np.flatnonzero(~has_loop[low:high]) + low
        indices[indptr[low] : indptr[high]] = np.insert(
            edges.indices[first : pointer[high]],
            pointer[missing] - first + lower[missing],
            missing.astype(np.int32),
        )
    data = None
    if policy == "add" and has_loop.any():
        data = np.ones(len(indices), np.float32)
        data[(indptr[:-1] + lower)[has_loop]] = 2.0
    return CSR(indptr, indices, data, edges.shape)


def _rows(indptr: Array, low: int, high: int) -> Array:
    return np.repeat(np.arange(low, high, dtype=np.int32), np.diff(indptr[low : high + 1]))


def build(edges: CSR, self_loops: str) -> Operator:
    """Return S of the induced edges.

    Degrees are in-degrees (row sums), as the released code takes them on directed graphs.
    """
    adjacency = with_self_loops(edges, self_loops)
    degree = np.diff(adjacency.indptr).astype(np.float64)
    if adjacency.data is not None:
        at = np.flatnonzero(adjacency.data == 2.0)
        degree[np.searchsorted(adjacency.indptr, at, side="right") - 1] += 1.0
    return Operator(adjacency, degree)
