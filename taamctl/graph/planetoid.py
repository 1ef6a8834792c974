"""Read the Planetoid files (ind.NAME.allx, ...): pickles, so an allow-list decides what they may
construct.

Source: Yang, Cohen, Salakhutdinov 2016, "Revisiting Semi-Supervised Learning with Graph
Embeddings"; the node order is that of every Planetoid reader: the rows of `allx`, then the test
nodes at the ids that `test.index` gives them.
"""

from __future__ import annotations

import collections
import io
import pickle
from collections.abc import Mapping
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.graph import pickle_check
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.graph.pickled_arrays import BYTES, plain, stand_in_for
from taamctl.graph.raw_values import default_class_names, reading

if TYPE_CHECKING:
    import scipy.sparse as sp

PARTS = ("allx", "ally", "tx", "ty", "graph")
INDEX = "test.index"
FEW_GAPS = 10  # ids per row, at most: some test nodes lack a row

_CONTAINERS = {
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _ArrayUnpickler(pickle.Unpickler):
    """Construct arrays, sparse matrices, lists and defaultdicts; refuse all else unseen."""

    def __init__(self, stream: IO[bytes], where: str) -> None:
        super().__init__(stream, encoding="latin1")
        self._where = where

    def find_class(self, module: str, name: str) -> Any:
        """Return the object that `module.name` stands for, if it is on the list."""
        key = (module, name)
        found = _CONTAINERS.get(key) or BYTES.get(key) or stand_in_for(module, name)
        if found is None:
            raise TaamctlError(
                f"{self._where}: refused to construct {module}.{name}; "
                "only arrays and lists belong there",
                "do not trust this file; delete it and get it from its publisher",
            )
        return found


def load_pickle(stream: IO[bytes], where: str) -> Any:
    """Return the array, sparse matrix or dict of lists in a Planetoid pickle.

    Raises:
        TaamctlError: a broken file, or one that asks for anything else than arrays, lists and
            dicts.
    """
    with reading(where):
        content = stream.read()
        pickle_check.require_sound(content, where)
        return plain(_ArrayUnpickler(io.BytesIO(content), where).load())


def load_index(stream: IO[bytes], where: str) -> Array:
    """Return the node ids of the test rows, [n] int64."""
    with reading(where):
        return np.array([int(line) for line in stream.read().split()], np.int64)


class Joined(NamedTuple):
    """The parts as one graph.

    Attributes:
        source, target: [E] row numbers.
        features: [N, F] scipy CSR; nodes without a row are all-zero.
        labels: [N] int64, -1 for none.
        classes: C.
    """

    source: Array
    target: Array
    features: sp.csr_matrix
    labels: Array
    classes: int


def joined(parts: Mapping[str, Any], index: Array, where: str) -> Joined:
    """Put the parts together: binary features and edges as given, nodes without a row all-zero and
    unlabelled.

    Args:
        parts: `allx` [n, F] and `tx` [m, F] sparse, `ally` [n, C] and `ty` [m, C] one-hot, `graph`
            {u: [v, ...]}.
        index: [m] node id of every row of `tx`.
        where: the files, for messages.

    Raises:
        TaamctlError: parts that are no such thing, or do not fit together.
    """
    with reading(where):
        allx, tx = (_sound(parts[part]) for part in ("allx", "tx"))
        ally, ty = (_one_hot(parts[part], part) for part in ("ally", "ty"))
        rows = {"allx": allx.shape[0], "ally": len(ally), "tx": tx.shape[0], "ty": len(ty)}
        known = rows["allx"]
        if rows["tx"] != len(index) or rows["ty"] != len(index) or rows["ally"] != known:
            raise TaamctlError(
                f"{where}: the parts do not fit together: {len(index)} test ids, rows {rows}",
                "it is not as published, or damaged: remove it, then run taamctl data fetch again",
            )
        nodes = max(known, int(index.max()) + 1 if len(index) else 0)
        if len(index) and not 0 <= index.min() <= index.max() < FEW_GAPS * (known + len(index)):
            raise TaamctlError(
                f"{where}: test ids run from {index.min():,} to {index.max():,}, but there are "
                f"{known + len(index):,} rows",
                "the files belong to different graphs, or one is damaged; get them again",
            )
        ids = np.concatenate([np.arange(known), index])
        labels = _labels(np.vstack([ally, ty]), ids, nodes)
        features = _features(allx, tx, ids, nodes)
        lists = parts["graph"]
        lengths = [len(neighbours) for neighbours in lists.values()]
        source = np.repeat(_whole(list(lists)), lengths)
        target = _whole(list(chain(*lists.values())))
    return Joined(source, target, features, labels, ally.shape[1])


def assemble(name: str, parts: dict[str, Any], index: Array, where: str) -> NodeGraph:
    """Put the parts into one graph in canonical form; for the arguments see `joined`."""
    made = joined(parts, index, where)
    nodes = made.features.shape[0]
    adjacency, notes = adjacency_from_edges(made.source, made.target, nodes, name)
    missing = int((made.labels < 0).sum())
    if missing:
        notes = (*notes, f"{missing:,} nodes have no label")
    features = from_scipy(made.features)
    names = default_class_names(made.classes)
    return NodeGraph(name, adjacency, features, made.labels, names, notes)


def _sound(matrix: Any) -> sp.csr_matrix:
    """Return a sparse matrix whose parts fit together: a pickle can state any."""
    import scipy.sparse as sp

    parts = (matrix.data, matrix.indices, matrix.indptr)
    if not all(isinstance(part, np.ndarray) and part.dtype.kind in "iufb" for part in parts):
        raise ValueError("a matrix of features does not hold numbers")
    made = sp.csr_matrix(parts, shape=matrix.shape)
    made.check_format(full_check=True)
    return made


def _one_hot(rows: Any, part: str) -> Array:
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "iufb":
        raise ValueError(f"{part} holds no rows of numbers")
    return rows


def _whole(values: list[Any]) -> Array:
    """Return row numbers, [n] int64."""
    found = np.array(values)
    if len(found) and (found.dtype.kind not in "iu" or found.ndim != 1):
        raise ValueError("graph holds what is no row number")
    return found.astype(np.int64)


def _labels(one_hot: Array, ids: Array, nodes: int) -> Array:
    labels = np.full(nodes, -1, np.int64)
    labels[ids] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return labels


def _features(allx: sp.csr_matrix, tx: sp.csr_matrix, ids: Array, nodes: int) -> sp.csr_matrix:
    import scipy.sparse as sp

    rows = sp.vstack([allx, tx]).tocoo()
    shape = (nodes, rows.shape[1])
    return sp.coo_matrix((rows.data, (ids[rows.row], rows.col)), shape=shape).tocsr()
