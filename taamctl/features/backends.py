"""One propagation step Z -> S Z in three ways that agree to rounding: torch (default), dgl (fastest on a CPU), scipy (reference).

None of them materialises a message per edge.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.features.operator import Operator

Step = Callable[[Array], Array]


def torch_step(operator: Operator) -> Step:
    """Return Z -> S Z over torch's CSR product, D^-1/2 folded into the values.

    Args of the step: [N, B] float32. Returns [N, B] float32.
    """
    import warnings

    import torch

    a = operator.adjacency
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
        matrix = torch.sparse_csr_tensor(torch.from_numpy(a.indptr.astype(np.int32) if a.nnz < 2**31 else a.indptr),
                                         torch.from_numpy(a.indices if a.nnz < 2**31 else a.indices.astype(np.int64)),
                                         torch.from_numpy(operator.values()), size=a.shape)

    def step(z: Array) -> Array:
        return np.asarray((matrix @ torch.from_numpy(z)).numpy())

    return step


def dgl_step(operator: Operator) -> Step:
    """Return Z -> S Z over DGL's copy-and-sum kernel, rows scaled by D^-1/2 before and after."""
    from taamctl.graph.dgl_adapter import sum_over_neighbours

    gather = sum_over_neighbours(operator.adjacency)
    scale = operator.inverse_root.astype(np.float32)[:, None]

    def step(z: Array) -> Array:
        return np.asarray(gather(z * scale) * scale)

    return step


def scipy_step(operator: Operator) -> Step:
    """Return Z -> S Z in float64 and rounded once: the reference that the other two are held to."""
    matrix = operator.scipy(np.float64)

    def step(z: Array) -> Array:
        return np.asarray(matrix @ z.astype(np.float64)).astype(np.float32)

    return step


def check_backend(name: str) -> None:
    """Raise before any work where a backend's library is missing."""
    if name == "dgl" and importlib.util.find_spec("dgl") is None:
        raise TaamctlError("precompute.backend is dgl, which is not installed",
                           "pip install 'dgl>=1.1.3,<2' packaging (Python 3.11), or set precompute.backend to torch")


BACKENDS: dict[str, Callable[[Operator], Step]] = {"torch": torch_step, "dgl": dgl_step, "scipy": scipy_step}
