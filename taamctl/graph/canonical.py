"""Bring a raw edge list into one canonical form: binary, sorted, duplicate-free compressed rows."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, NodeGraph

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import DTypeLike


def adjacency_from_edges(
    source: Array, target: Array, num_nodes: int, name: str
) -> tuple[CSR, tuple[str, ...]]:
    """Build the binary adjacency of a directed edge list; row v holds the sources of the edges that
    end in v.

    Args:
        source, target: [E] integers of any width.
        num_nodes: N.
        name: data set name, for messages.

    Returns:
        The adjacency, and notes on what was changed (duplicates dropped).

    Raises:
        TaamctlError: an id that is no integer, negative, or >= N; the message names the edge.
    """
    import scipy.sparse as sp

    source, target = (_ids(a, name) for a in (source, target))
    if source.shape != target.shape:
        raise TaamctlError(
            f"{name}: {len(source)} edge sources but {len(target)} targets",
            "give both ends of every edge",
        )
    for ids in (source, target):
        if len(ids) and (int(ids.min()) < 0 or int(ids.max()) >= num_nodes):
            at = int(np.flatnonzero((ids < 0) | (ids >= num_nodes))[0])
            raise TaamctlError(
                f"{name}: edge {at} is ({source[at]}, {target[at]}) but node ids run from 0 to "
                f"{num_nodes - 1}",
                "check that the edge list and the node table come from the same graph",
            )
    ends = target.astype(np.int32, copy=False), source.astype(np.int32, copy=False)
    ones = np.ones(len(source), np.int8)
    made = sp.coo_matrix((ones, ends), shape=(num_nodes, num_nodes)).tocsr()  # sorted, each once
    dropped = len(source) - made.nnz
    if not dropped:
        return _binary(made), ()
    return _binary(made), (f"{dropped:,} duplicate edges dropped",)


def _ids(values: Array, name: str) -> Array:
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "f" and np.array_equal(values, np.floor(values)):
        return values.astype(np.int64)
    raise TaamctlError(
        f"{name}: edge ids are {values.dtype}, expected whole numbers",
        "give the ends of edges as row numbers of nodes",
    )


def _binary(m: sp.csr_matrix) -> CSR:
    """Return where a scipy matrix with sorted rows has entries, whatever they are."""
    indices = m.indices.astype(np.int32, copy=False)
    return CSR(m.indptr.astype(np.int64), indices, None, (int(m.shape[0]), int(m.shape[1])))


def to_scipy(matrix: CSR, dtype: DTypeLike = np.float32) -> sp.csr_matrix:
    """Return `matrix` as a scipy CSR matrix; entries without a stored value are 1."""
    import scipy.sparse as sp

    data = matrix.data
    if data is None:
        data = np.ones(matrix.nnz, dtype)
    data = data.astype(dtype, copy=False)
    return sp.csr_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def from_scipy(matrix: sp.spmatrix, *, binary: bool = False) -> CSR:
    """Return a scipy sparse matrix as canonical CSR: sorted, duplicates summed, explicit zeros
    dropped, float32.
    """
    import scipy.sparse as sp

    m = sp.csr_matrix(matrix, copy=True)
    m.sum_duplicates()
    m.eliminate_zeros()
    m.sort_indices()
    made = _binary(m)
    return made if binary else replace(made, data=m.data.astype(np.float32))


def symmetrise(adjacency: CSR) -> CSR:
    """Return the union of a binary adjacency and its transpose."""
    m = to_scipy(adjacency, np.int8)
    return _binary(m.maximum(m.T.tocsr()))  # of two canonical matrices, so canonical


def reader_order(adjacency: CSR) -> Array:
    """Return the node order that DGL's readers use: reverse Cuthill-McKee on the edges as stored.

    Source: dgl.reorder_graph(node_permute_algo="rcmk"), which calls the same scipy routine on the
    out-adjacency.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    # SciPy joins a matrix with its transpose first: which of the two it gets makes no difference.
    return np.asarray(reverse_cuthill_mckee(to_scipy(adjacency, np.int8)), np.int64)


class FeatureHash:
    """A sha256 over features in consecutive row blocks: the same however the rows are cut."""

    def __init__(self) -> None:
        self._parts = {name: hashlib.sha256() for name in ("dense", "lengths", "indices", "data")}
        self._rows = 0
        self._columns = 0

    def update(self, block: Array | CSR) -> None:
        """Add rows, [n, F] float32 or CSR."""
        self._rows += block.shape[0]
        self._columns = block.shape[1]
        if isinstance(block, np.ndarray):
            self._add("dense", block)
            return
        self._add("lengths", np.diff(block.indptr))
        self._add("indices", block.indices)
        if block.data is not None:
            self._add("data", block.data)

    def _add(self, part: str, array: Array) -> None:
        self._parts[part].update(np.ascontiguousarray(array).data)

    def hexdigest(self) -> str:
        """Return the hash of the rows so far."""
        parts = " ".join(part.hexdigest() for part in self._parts.values())
        whole = f"{self._rows} {self._columns} {parts}"
        return hashlib.sha256(whole.encode()).hexdigest()


def feature_hash(features: Array | CSR) -> str:
    """Return the hash of features that are in memory as a whole."""
    digest = FeatureHash()
    digest.update(features)
    return digest.hexdigest()


def content_hash(graph: NodeGraph) -> str:
    """Return a sha256 over the graph's edges, features and labels, whatever file they are from."""
    digest = hashlib.sha256()
    x = graph.features
    parts = (x,) if isinstance(x, np.ndarray) else (x.indptr, x.indices, x.data)
    for array in (graph.adjacency.indptr, graph.adjacency.indices, *parts, graph.labels):
        if array is not None:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
