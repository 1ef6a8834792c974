"""Graph-level profiles for task-ID inference, by propagating vectors instead of features.

mean(S^j X) = (1/N) ((S^T)^j 1)^T X, so a mean costs O(j E + N F) instead of O(j E F), and needs X
once, in any blocks of columns.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.propagation.column_blocks import dense_rows
from taamctl.propagation.operator import NO_PAIRS, Operator

ROWS = 4096  # rows of X that are summed at once; fixed, because the last bits depend on it


def spread(operator: Operator, hops: int) -> Array:
    """Return S^hops 1 as [N] float64."""
    v = np.ones(len(operator.degree))
    for _ in range(hops):
        v = operator.times(v)
    return v


def hop_weights(operator: Operator, max_hop: int) -> Array:
    """Return (S^T)^j 1, j = 0..max_hop, as [N, max_hop + 1] float64."""
    v = np.ones((len(operator.degree), max_hop + 1))
    for j in range(1, max_hop + 1):
        v[:, j] = operator.times(v[:, j - 1], transposed=True)
    return v


def ls_weights(operator: Operator, hops: int, pairs: tuple[Array, Array] = NO_PAIRS) -> Array:
    """Return (S'^T)^hops v as [N, 2] float64, v being the diagonal of D'^-1/2, and ones.

    Its product with X, over N, is the Laplacian-smoothing profile of a graph with the trailing
    D^-1/2, and without: the mean over nodes of Z = D'^-1/2 S'^hops X. G' = G plus, for every node
    without an edge, one edge pair to a random connected node of its group (none where there is
    none).

    Args:
        pairs: entries (row, column) that the reconnected graph G' has beyond the operator's; none:
            G' is G.

    Source: TPP (2024); the trailing D^-1/2 makes the profile's length depend on degrees, which an
    inductive split changes.
    """
    more = np.bincount(pairs[0], minlength=len(operator.degree))
    joined = Operator(operator.adjacency, operator.degree + more)
    v = np.stack([joined.inverse_root, np.ones(len(operator.degree))], axis=1)
    for _ in range(hops):
        v = joined.times(v, transposed=True, pairs=pairs)
    return v


def hop_means(operator: Operator, features: Array | CSR, offset: Array, max_hop: int) -> Array:
    """Return the mean over every group's nodes of S^j X, j = 0..max_hop, as [G, max_hop + 1, F]
    float64.
    """
    weights = hop_weights(operator, max_hop)
    out = np.zeros((len(offset) - 1, max_hop + 1, features.shape[1]))
    for g, (low, high) in enumerate(pairwise(offset)):
        if high > low:
            x = dense_rows(features, low, high)
            out[g] = weighted_sums(weights[low:high], x) / (high - low)
    return out


def weighted_sums(weights: Array, x: Array) -> Array:
    """Return weights^T X with the same bits of a column alone and among any others: terms are added
    one after another.

    Args:
        weights: [N, J] float64.
        x: [N, B] float32.

    Returns:
        [J, B] float64.
    """
    import scipy.sparse as sp

    n, j = weights.shape
    out = np.zeros((j, x.shape[1]))
    for low in range(0, n, ROWS):
        rows = min(ROWS, n - low)
        indices = np.tile(np.arange(rows, dtype=np.int32), j)
        indptr = np.arange(0, j * rows + 1, rows, dtype=np.int32)
        values = weights[low : low + rows].T.ravel()
        full = sp.csr_matrix((values, indices, indptr), shape=(j, rows))
        out += full @ x[low : low + rows].astype(np.float64)
    return out
