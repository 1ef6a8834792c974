"""A graph as the objects of other Python libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.exporting.whole import whole_of
from taamctl.exporting.writer_dgl import data_of
from taamctl.exporting.writer_pyg import tensors
from taamctl.graph import dgl_adapter
from taamctl.graph.canonical import to_scipy as as_scipy

if TYPE_CHECKING:
    import scipy.sparse as sp


def to_scipy(graph: NodeGraph) -> tuple[sp.csr_matrix, Array | sp.csr_matrix]:
    """Return a graph as SciPy and NumPy hold it.

    Returns:
        [N, N] float32 of ones, entry (i, j) for an edge i -> j, as `graph_of` takes it; and the
        features [N, F] float32, a matrix where they are sparse.
    """
    features = graph.features
    if isinstance(features, CSR):
        features = as_scipy(features)
    return as_scipy(graph.adjacency).T.tocsr(), features


def to_pyg(graph: NodeGraph) -> object:
    """Return a graph as a `torch_geometric.data.Data`: x, edge_index, y and what else it states.

    Raises:
        TaamctlError: PyG is not installed.
    """
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise TaamctlError(
            "a Data of PyG needs torch_geometric, which is not installed",
            "pip install torch_geometric",
        ) from None
    return Data.from_dict(tensors(whole_of(graph)))


def to_dgl(graph: NodeGraph) -> object:
    """Return a graph as a DGLGraph, features as `x` and labels as `y` in `ndata`.

    Raises:
        TaamctlError: DGL is not installed.
    """
    whole = whole_of(graph)
    return dgl_adapter.made(len(whole.ids), (whole.source, whole.target), data_of(whole))
