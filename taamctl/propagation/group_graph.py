"""The graph behind cached features, for the methods that need it: raw rows, induced subgraphs,
propagation in float64 and differentiable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.propagation.backends import rounded_step
from taamctl.propagation.powers import power, powers
from taamctl.propagation.stored_entries import BothWays

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Extras = Mapping[str, Array]


def raw_rows(extras: Extras, rows: torch.Tensor, num_features: int) -> torch.Tensor:
    """Return raw feature rows, [B, F] float32, on the CPU.

    Args:
        extras: `x_indptr`, `x_indices`, `x_data` of a group.
        rows: [B] row ids inside the group.
    """
    import scipy.sparse as sp

    x = sp.csr_matrix(
        (extras["x_data"], extras["x_indices"], extras["x_indptr"]),
        shape=(len(extras["x_indptr"]) - 1, num_features),
    )
    return torch.from_numpy(np.asarray(x[rows.cpu().numpy()].toarray(), np.float32))


def adjacency(extras: Extras) -> csr_matrix:
    """Return a group's edges with self-loops; row v holds what v receives; a stored pair adds to
    its weight.
    """
    import scipy.sparse as sp

    n = len(extras["indptr"]) - 1
    edges = sp.csr_matrix(
        (np.ones(len(extras["indices"])), extras["indices"], extras["indptr"]),
        shape=(n, n),
        copy=True,
    )
    edges.sum_duplicates()
    return edges


def normalised(edges: csr_matrix) -> csr_matrix:
    """Return S = D^-1/2 A D^-1/2 of edges that hold their self-loops already, float64; degrees are
    row sums, at least 1.
    """
    import scipy.sparse as sp

    root = sp.diags(1 / np.sqrt(np.maximum(np.asarray(edges.sum(1)).ravel(), 1.0)))
    return (root @ edges @ root).tocsr()


def propagate_rows(edges: csr_matrix, x: torch.Tensor, hops: int) -> torch.Tensor:
    """Return S^hops X of a (sub)graph, [N, F] float32, computed in float64 and rounded once."""
    z = power(normalised(edges).__matmul__, x.double().numpy(), hops)
    return torch.from_numpy(np.asarray(z, np.float32))


class Propagation:
    """Z -> S^hops Z, differentiable in Z: the backward pass is the transposed product."""

    def __init__(self, s: csr_matrix, hops: int, device: torch.device) -> None:
        self.hops = hops
        self._s = BothWays.of(s, device)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return S^hops Z for [N, B] float32."""
        return power(self._s.times, z, self.hops)


def in_edges(extras: Extras) -> tuple[Array, Array]:
    """Return (receiver, sender) of every edge, self-loops included, grouped by receiver."""
    receiver = np.repeat(np.arange(len(extras["indptr"]) - 1), np.diff(extras["indptr"]))
    return receiver, extras["indices"].astype(np.int64)


def hop_rows(
    h: torch.Tensor, extras: Extras, hops: Iterable[int], stored: int
) -> dict[int, torch.Tensor]:
    """Return j -> S^j X of a whole group, [N, F] float32 on the CPU, every step rounded from
    float64.

    Args:
        h: [N, F] S^stored X. extras: raw features and edges of the group.
    """
    wanted = set(hops)
    others = wanted - {stored}
    out = {stored: h.cpu()} if stored in wanted else {}
    if not others:
        return out
    x = raw_rows(extras, torch.arange(len(h)), h.shape[1]).numpy()
    last = max(others)
    if not last:  # the edges may not be there
        return out | {0: torch.from_numpy(x)}
    step = rounded_step(normalised(adjacency(extras)))
    found = enumerate(powers(step, x, last))
    return out | {j: torch.from_numpy(z) for j, z in found if j in others}
