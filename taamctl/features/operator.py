"""The normalised adjacency S = D^-1/2 (A + I) D^-1/2 of many induced subgraphs at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from taamctl.core.types import CSR, Array


@dataclass(frozen=True)
class Operator:
    """S over grouped rows, block-diagonal.

    Attributes:
        adjacency: A with self-loops added; `data` holds multiplicities (1, or 2 where a loop was there before).
        degree: [N] float64 row sums of it, at least 1.
    """

    adjacency: CSR
    degree: Array

    @property
    def inverse_root(self) -> Array:
        """Return D^-1/2 as [N] float64."""
        return 1.0 / np.sqrt(self.degree)

    def values(self, dtype: Any = np.float32) -> Array:
        """Return the entries of S in the order of `adjacency.indices`, rounded once from float64."""
        d, rows = self.inverse_root, np.diff(self.adjacency.indptr)
        assert self.adjacency.data is not None
        return np.asarray(np.repeat(d, rows) * d[self.adjacency.indices] * self.adjacency.data, dtype)

    def scipy(self, dtype: Any = np.float64) -> Any:
        """Return S as a scipy CSR matrix."""
        import scipy.sparse as sp

        return sp.csr_matrix((self.values(dtype), self.adjacency.indices, self.adjacency.indptr), shape=self.adjacency.shape)


def with_self_loops(edges: CSR, policy: str) -> CSR:
    """Give every node its self-loop, after induction.

    Args:
        edges: [N, N] binary.
        policy: `add` puts one loop more (weight 2 where one was stored), `reset` makes it exactly one.
    """
    n = edges.shape[0]
    degree = np.diff(edges.indptr)
    rows = np.repeat(np.arange(n, dtype=np.int32), degree)
    has_loop = np.zeros(n, bool)
    has_loop[rows[rows == edges.indices]] = True
    lower = np.bincount(rows[edges.indices < rows], minlength=n)  # entries left of the diagonal
    missing = np.flatnonzero(~has_loop)
    at = edges.indptr[:-1][missing] + lower[missing]
    indices = np.insert(edges.indices, at, missing.astype(np.int32))
    indptr = edges.indptr + np.concatenate([[0], np.cumsum(~has_loop)])
    data = np.ones(len(indices), np.float32)
    if policy == "add":
        rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        data[(rows == indices) & has_loop[rows]] = 2.0
    return CSR(indptr.astype(np.int64), indices, data, edges.shape)


def build(edges: CSR, self_loops: str) -> Operator:
    """Return S of the induced edges. Degrees are in-degrees (row sums), as the released code takes them on directed graphs."""
    adjacency = with_self_loops(edges, self_loops)
    sums = np.add.reduceat(adjacency.data.astype(np.float64), adjacency.indptr[:-1]) if adjacency.nnz else np.zeros(0)  # type: ignore[union-attr]
    return Operator(adjacency, np.maximum(sums, 1.0))
