"""The only module that imports dgl: a propagation kernel, and the reader's renumbering for tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array


def _dgl() -> Any:
    os.environ.setdefault("DGLBACKEND", "pytorch")  # else the first import writes a config file into the user's home
    try:
        import dgl
    except ImportError as error:
        raise TaamctlError(f"dgl cannot be imported ({error})",
                           "pip install 'dgl>=1.1.3,<2' packaging (Python 3.11), or set precompute.backend to torch") from None
    return dgl


def sum_over_neighbours(adjacency: CSR) -> Callable[[Array], Array]:
    """Return Z -> A Z for a matrix of small whole multiplicities, as DGL's fused copy_u/sum kernel.

    Args:
        adjacency: [N, N]; an entry of 2 becomes two parallel edges.
    """
    import torch

    dgl = _dgl()
    rows = np.repeat(np.arange(adjacency.shape[0], dtype=np.int64), np.diff(adjacency.indptr))
    columns = adjacency.indices.astype(np.int64)
    if adjacency.data is not None and adjacency.nnz and adjacency.data.max() > 1:
        repeats = adjacency.data.astype(np.int64)
        rows, columns = np.repeat(rows, repeats), np.repeat(columns, repeats)
    graph = dgl.graph((torch.from_numpy(columns), torch.from_numpy(rows)), num_nodes=adjacency.shape[0]).int()
    graph = graph.formats(["csc"])

    def step(z: Array) -> Array:
        return np.asarray(dgl.ops.copy_u_sum(graph, torch.from_numpy(np.ascontiguousarray(z))).numpy())

    return step
