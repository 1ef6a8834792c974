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
from itertools import chain
from typing import IO, Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.graph import pickle_check
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.graph.pickled_arrays import plain, stand_in_for
from taamctl.graph.raw_values import default_class_names, reading

PARTS = ("allx", "ally", "tx", "ty", "graph")
INDEX = "test.index"

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
        found = _CONTAINERS.get((module, name)) or stand_in_for(module, name)
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


def assemble(name: str, parts: dict[str, Any], index: Array, where: str) -> NodeGraph:
    """Put the parts into one graph: binary features and edges as given, nodes without a row
    all-zero and unlabelled.

    Args:
        name: data set name.
        parts: `allx` [n, F] and `tx` [m, F] sparse, `ally` [n, C] and `ty` [m, C] one-hot, `graph`
            {u: [v, ...]}.
        index: [m] node id of every row of `tx`.
        where: the files, for messages.
    """
    with reading(where):
        rows = {part: int(parts[part].shape[0]) for part in ("allx", "ally", "tx", "ty")}
        known = rows["allx"]
        if rows["tx"] != len(index) or rows["ty"] != len(index) or rows["ally"] != known:
            raise TaamctlError(
                f"{where}: the parts do not fit together: {len(index)} test ids, rows {rows}",
                "it is not as published, or damaged: remove it, then run taamctl data fetch again",
            )
        nodes = max(known, int(index.max()) + 1 if len(index) else 0)
        ids = np.concatenate([np.arange(known), index])
        labels = _labels(np.vstack([parts["ally"], parts["ty"]]), ids, nodes)
        features = _features(parts["allx"], parts["tx"], ids, nodes)
        lengths = [len(v) for v in parts["graph"].values()]
        source = np.repeat(np.fromiter(parts["graph"], np.int64, len(lengths)), lengths)
        target = np.array(list(chain(*parts["graph"].values())), np.int64)
        classes = int(parts["ally"].shape[1])
    adjacency, notes = adjacency_from_edges(source, target, nodes, name)
    missing = int((labels < 0).sum())
    if missing:
        notes = (*notes, f"{missing:,} nodes have no label")
    return NodeGraph(name, adjacency, features, labels, default_class_names(classes), notes)


def _labels(one_hot: Array, ids: Array, nodes: int) -> Array:
    labels = np.full(nodes, -1, np.int64)
    labels[ids] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    return labels


def _features(allx: Any, tx: Any, ids: Array, nodes: int) -> CSR:
    import scipy.sparse as sp

    rows = sp.vstack([allx, tx]).tocoo()
    return from_scipy(
        sp.coo_matrix((rows.data, (ids[rows.row], rows.col)), shape=(nodes, rows.shape[1]))
    )
