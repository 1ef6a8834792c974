"""What a trained net is fed with: rows of H and, where most of H is zero, the stored entries alone.

One product with H forward and one backward are most of a training step. Where few entries are
stored, both are sums of rows: H W1^T adds up rows of W1^T, and its gradient H^T G rows of G.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.autograd.function import FunctionCtx
from torch.nn import functional

# Share of entries that are not zero under which sparse products win on a CPU, by tests/benchmarks.
SPARSE = 0.25


@dataclass(frozen=True)
class StoredEntries:
    """A matrix by its stored entries, row after row.

    Attributes:
        pointer: [rows + 1] int32. column: [E] int32. value: [E] float32.
    """

    pointer: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """Return the product with `dense`, [columns, K]."""
        return functional.embedding_bag(
            self.column,
            dense.contiguous(),
            self.pointer,
            mode="sum",
            include_last_offset=True,
            per_sample_weights=self.value,
        )


@dataclass(frozen=True)
class NetInput:
    """The rows of one training set, the same in every epoch.

    Attributes:
        h: [N, F] float32.
        entries, turned: H and H^T by their stored entries; None where H is mostly full, or is not
            on a CPU.
    """

    h: torch.Tensor
    entries: StoredEntries | None
    turned: StoredEntries | None

    @staticmethod
    def of(h: torch.Tensor) -> NetInput:
        """Look at H once: which products with it are cheaper is a question of its zeros alone."""
        if h.device.type != "cpu" or torch.count_nonzero(h).item() >= SPARSE * h.numel():
            return NetInput(h, None, None)
        import scipy.sparse as sp

        matrix = sp.csr_matrix(h.detach().numpy())
        return NetInput(h, _entries(matrix), _entries(matrix.T.tocsr()))

    def __len__(self) -> int:
        return len(self.h)

    def __getitem__(self, rows: torch.Tensor | slice) -> torch.Tensor | NetInput:
        """Return a batch: all rows as they are, some of them as [B, F]."""
        return self if isinstance(rows, slice) else self.h[rows]


def times_weight(h: torch.Tensor | NetInput, weight: torch.Tensor) -> torch.Tensor:
    """Return h weight^T, [N, K]; differentiable in `weight` [K, F], as often as one likes."""
    if isinstance(h, torch.Tensor):
        return functional.linear(h, weight)
    if h.entries is None or h.turned is None:
        return functional.linear(h.h, weight)
    product: torch.Tensor = _Product.apply(weight.T, h.entries, h.turned)  # type: ignore[no-untyped-call]
    return product


class _Context(FunctionCtx):
    matrices: tuple[StoredEntries, StoredEntries]


class _Product(torch.autograd.Function):
    """M D, whose gradient by D is M^T G: the same function with the matrices changed over."""

    @staticmethod
    def forward(
        ctx: _Context, dense: torch.Tensor, matrix: StoredEntries, turned: StoredEntries
    ) -> torch.Tensor:
        ctx.matrices = (matrix, turned)
        return matrix.times(dense)

    @staticmethod
    def backward(ctx: _Context, upstream: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        matrix, turned = ctx.matrices
        return _Product.apply(upstream, turned, matrix), None, None  # type: ignore[no-untyped-call]


def _entries(matrix: object) -> StoredEntries:
    """Return a SciPy CSR matrix as tensors."""
    pointer, column, value = (getattr(matrix, name) for name in ("indptr", "indices", "data"))
    return StoredEntries(
        torch.from_numpy(pointer.astype(np.int32)),
        torch.from_numpy(column.astype(np.int32)),
        torch.from_numpy(value),
    )
