"""CSR matrices as torch tensors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.types import Array

if TYPE_CHECKING:
    import torch


def torch_csr(
    indptr: Array, indices: Array, data: Array, shape: tuple[int, int], index: DTypeLike = np.int32
) -> torch.Tensor:
    """Return a sparse CSR tensor on the CPU, its pointers and column ids of type `index`."""
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(indptr.astype(index)),
            torch.from_numpy(indices.astype(index)),
            torch.from_numpy(data),
            size=shape,
        )
