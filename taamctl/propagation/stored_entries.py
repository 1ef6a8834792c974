"""A sparse matrix by its stored entries, and its product with a dense one: sums of rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from taamctl.core.late_torch import functional, torch

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class StoredEntries:
    """A matrix, row after row.

    Attributes:
        pointer: [rows + 1] int32. column: [E] int32. value: [E] float32.
    """

    pointer: torch.Tensor
    column: torch.Tensor
    value: torch.Tensor

    @staticmethod
    def of(matrix: csr_matrix, device: torch.device | None = None) -> StoredEntries:
        """Return a SciPy CSR matrix as tensors on `device`."""
        return StoredEntries(
            torch.from_numpy(matrix.indptr.astype(np.int32)).to(device),
            torch.from_numpy(matrix.indices.astype(np.int32)).to(device),
            torch.from_numpy(matrix.data.astype(np.float32)).to(device),
        )

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """Return the product with `dense`, [columns, K] -> [rows, K] float32.

        A row is one sum in the order of its entries, on a GPU too.
        """
        return functional.embedding_bag(
            self.column,
            dense.contiguous(),
            self.pointer,
            mode="sum",
            include_last_offset=True,
            per_sample_weights=self.value,
        )


@dataclass(frozen=True)
class BothWays:
    """A matrix M and its transpose: what a product that is differentiated needs.

    Attributes:
        matrix, turned: M and M^T.
    """

    matrix: StoredEntries
    turned: StoredEntries

    @staticmethod
    def of(matrix: csr_matrix, device: torch.device | None = None) -> BothWays:
        """Return a SciPy CSR matrix and its transpose on `device`."""
        return BothWays(
            StoredEntries.of(matrix, device), StoredEntries.of(matrix.T.tocsr(), device)
        )

    def times(self, dense: torch.Tensor) -> torch.Tensor:
        """Return M D; differentiable in D, as often as one likes."""
        made: torch.Tensor = _product().apply(dense, self)  # type: ignore[no-untyped-call]
        return made


class _Context(Protocol):
    turned: BothWays


@cache
def _product() -> type[torch.autograd.Function]:
    """Return M D as a function whose gradient by D is M^T G: the same function of the transpose.
    As a class of torch's, it is made when it is first used.
    """

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: _Context, dense: torch.Tensor, both: BothWays) -> torch.Tensor:
            ctx.turned = BothWays(both.turned, both.matrix)
            return both.matrix.times(dense)

        @staticmethod
        def backward(ctx: _Context, upstream: torch.Tensor) -> tuple[torch.Tensor, None]:
            return ctx.turned.times(upstream), None

    return Product
