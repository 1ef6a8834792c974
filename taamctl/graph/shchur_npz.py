"""Read graphs stored with the gnn-benchmark keys: adj_*, attr_*, labels in one .npz, never
unpickling anything.

Source: Shchur et al. 2018, "Pitfalls of Graph Neural Network Evaluation", whose repository set the
key names.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.graph.npz_check import require_sound
from taamctl.graph.raw_values import clean_labels, default_class_names, reading

if TYPE_CHECKING:
    import scipy.sparse as sp

_PARTS = ("data", "indices", "indptr", "shape")
_ADJACENCY = tuple(f"adj_{part}" for part in _PARTS)
_SPARSE = tuple(f"attr_{part}" for part in _PARTS)
_DENSE = "attr_matrix"
_OPTIONAL = (*_SPARSE, _DENSE, "class_names", "unlabelled_idx")


def read_arrays(
    stream: IO[bytes], where: str, wanted: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, Array]:
    """Return the arrays `wanted`, and those of `optional` that are there, from an .npz; other keys
    are not touched.

    Raises:
        TaamctlError: the file is broken, a wanted key is missing, or an array is a pickled object.
    """
    require_sound(stream, where)
    with reading(where), np.load(stream, allow_pickle=False) as archive:
        missing = [key for key in wanted if key not in archive.files]
        if missing:
            raise TaamctlError(
                f"{where}: no array called {missing[0]}; there are: "
                f"{', '.join(sorted(archive.files))}",
                "make it again with arrays that fit, or fetch it again: taamctl data fetch",
            )
        return {key: archive[key] for key in (*wanted, *optional) if key in archive.files}


def read_npz(
    name: str, stream: IO[bytes], where: str, class_names: tuple[str, ...] = ()
) -> NodeGraph:
    """Return the graph of a gnn-benchmark .npz, nodes in file order, edges as stored (row ->
    column), binary.

    Args:
        name: data set name.
        stream: the .npz, seekable.
        where: the file, for messages.
        class_names: C names; empty to take them from the file, or to number them where it has none.

    Raises:
        TaamctlError: a broken file, missing features, or entries that lie outside the stated shape.
    """
    arrays = read_arrays(stream, where, (*_ADJACENCY, "labels"), _OPTIONAL)
    features = _features(arrays, where)
    source, target = entries(arrays, where)
    adjacency, notes = adjacency_from_edges(source, target, int(arrays["adj_shape"][0]), name)
    labels, label_notes = _labels(arrays, where)
    names = class_names or _class_names(arrays, labels)
    return NodeGraph(name, adjacency, features, labels, names, (*notes, *label_notes))


def _labels(arrays: dict[str, Array], where: str) -> tuple[Array, tuple[str, ...]]:
    labels = np.array(arrays["labels"])
    if "unlabelled_idx" in arrays:
        with reading(where):
            labels = labels.astype(np.int64 if labels.dtype.kind in "iu" else np.float64)
            labels[arrays["unlabelled_idx"]] = -1
    return clean_labels(labels, where)


def entries(arrays: dict[str, Array], where: str) -> tuple[Array, Array]:
    """Return row and column ids of the adjacency's stored entries that are not zero."""
    data, columns, indptr, shape = (arrays[key] for key in _ADJACENCY)
    check_rows(indptr, columns, data, shape, where, "adj")
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    stored = data != 0
    return rows[stored], columns[stored]


def _features(arrays: dict[str, Array], where: str) -> CSR:
    import scipy.sparse as sp

    if _DENSE in arrays:
        return from_scipy(sp.csr_matrix(np.asarray(arrays[_DENSE], np.float32)))
    if any(key not in arrays for key in _SPARSE):
        raise TaamctlError(
            f"{where} holds edges and labels but features are missing ({', '.join(_SPARSE)})",
            "get the full file; without features there is nothing to propagate",
        )
    return from_scipy(_feature_matrix(arrays, where))


def _feature_matrix(arrays: dict[str, Array], where: str) -> sp.csr_matrix:
    import scipy.sparse as sp

    data, columns, indptr, shape = (arrays[key] for key in _SPARSE)
    check_rows(indptr, columns, data, shape, where, "attr")
    wrong = np.flatnonzero((columns < 0) | (columns >= shape[1]))
    if len(wrong):
        row = int(np.searchsorted(indptr, wrong[0], side="right")) - 1
        raise TaamctlError(
            f"{where}: feature column {columns[wrong[0]]} at row {row}, "
            f"but columns run from 0 to {shape[1] - 1}",
            "make it again with arrays that fit, or fetch it again: taamctl data fetch",
        )
    return sp.csr_matrix(
        (data.astype(np.float32), columns, indptr), shape=tuple(int(s) for s in shape)
    )


def check_rows(
    indptr: Array, columns: Array, data: Array, shape: Array, where: str, prefix: str
) -> None:
    """Refuse compressed rows that contradict themselves."""
    if shape.shape != (2,) or indptr.shape != (int(shape[0]) + 1,):
        raise TaamctlError(
            f"{where}: {prefix}_indptr has shape {indptr.shape} but {prefix}_shape is "
            f"{shape.tolist()}",
            "make it again with arrays that fit, or fetch it again: taamctl data fetch",
        )
    fits = int(indptr[0]) == 0 and int(indptr[-1]) == len(columns) == len(data)
    if not fits or (np.diff(indptr) < 0).any():
        raise TaamctlError(
            f"{where}: {prefix}_indptr does not fit {len(columns)} column ids and {len(data)} "
            "values",
            "make it again with arrays that fit, or fetch it again: taamctl data fetch",
        )


def _class_names(arrays: dict[str, Array], labels: Array) -> tuple[str, ...]:
    if "class_names" in arrays:
        return tuple(str(n) for n in arrays["class_names"])
    return default_class_names(int(labels.max()) + 1 if len(labels) else 0)
