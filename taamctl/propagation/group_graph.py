"""The graph behind cached features, for the few methods that need it: raw rows, induced
subgraphs, differentiable propagation.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

from taamctl.core.types import Array


def raw_rows(extras: Mapping[str, Any], rows: torch.Tensor, num_features: int) -> torch.Tensor:
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


def adjacency(extras: Mapping[str, Any]) -> Any:
    """Return a group's edges with self-loops as a scipy CSR matrix; row v holds what v receives;
    a stored pair adds to its weight.
    """
    import scipy.sparse as sp

    n = len(extras["indptr"]) - 1
    made = sp.csr_matrix(
        (np.ones(len(extras["indices"])), extras["indices"], extras["indptr"]),
        shape=(n, n),
        copy=True,
    )
    made.sum_duplicates()
    return made


def normalised(edges: Any) -> Any:
    """Return S = D^-1/2 A D^-1/2 of edges that hold their self-loops already; degrees are row
    sums, at least 1.
    """
    import scipy.sparse as sp

    root = sp.diags(1 / np.sqrt(np.maximum(np.asarray(edges.sum(1)).ravel(), 1.0)))
    return (root @ edges @ root).tocsr()


def propagate_rows(edges: Any, x: torch.Tensor, hops: int) -> torch.Tensor:
    """Return S^hops X of a (sub)graph, [N, F] float32, computed in float64 and rounded once."""
    s, z = normalised(edges), x.double().numpy()
    for _ in range(hops):
        z = s @ z
    return torch.from_numpy(np.asarray(z, np.float32))


class Propagation:
    """Z -> S^hops Z, differentiable in Z: the backward pass is the transposed product."""

    def __init__(self, s: Any, hops: int, device: torch.device) -> None:
        self.hops, self._s, self._t = hops, _tensor(s, device), _tensor(s.T.tocsr(), device)

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return S^hops Z for [N, B] float32."""
        for _ in range(self.hops):
            z = _Step.apply(z, self._s, self._t)  # type: ignore[no-untyped-call]
        return z


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: torch.Tensor, s: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        ctx.transposed = t
        return s @ z

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return ctx.transposed @ gradients[0].contiguous(), None, None


def _tensor(matrix: Any, device: torch.device) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
        ).to(device)


def in_edges(extras: Mapping[str, Any]) -> tuple[Array, Array]:
    """Return (receiver, sender) of every edge, self-loops included, grouped by receiver."""
    return np.repeat(np.arange(len(extras["indptr"]) - 1), np.diff(extras["indptr"])), extras[
        "indices"
    ].astype(np.int64)


def hop_rows(
    h: torch.Tensor, extras: Mapping[str, Any], hops: Iterable[int], stored: int
) -> dict[int, torch.Tensor]:
    """Return j -> S^j X of a whole group, [N, F] float32 on the CPU.

    Args:
        h: [N, F] S^stored X. extras: raw features and edges of the group.
    """
    wanted = sorted(set(hops))
    out = {stored: h.cpu()} if stored in wanted else {}
    others = [j for j in wanted if j != stored]
    if others:
        z = raw_rows(extras, torch.arange(len(h)), h.shape[1])
        s = normalised(adjacency(extras)) if others[-1] else None
        for j in range(others[-1] + 1):
            if j:
                z = torch.from_numpy(np.asarray(s @ z.numpy(), np.float32))
            if j in others:
                out[j] = z
    return out
