"""A graph as AnnData keeps it in HDF5: features in X, what is known of the nodes in obs, edges in
obsp. The package anndata is not needed.

Source: "AnnData on-disk format", version 0.1.0 of its elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.exporting import named_arrays
from taamctl.exporting.text_columns import TextColumns, require_text, text_columns
from taamctl.exporting.whole import Plan, Whole

if TYPE_CHECKING:
    import h5py

EDGES = "adjacency"
EMPTY = ("layers", "obsm", "uns", "varm", "varp")  # what AnnData expects to be there


def plan(whole: Whole) -> Plan:
    """Return how to write NAME.h5ad.

    Raises:
        TaamctlError: a name that HDF5 cannot hold, or a feature without one.
    """
    columns = text_columns(whole, "AnnData")
    require_text(whole, columns, lambda text: "\0" in text, "AnnData")
    options = replace(columns.options, features=("X",), source=EDGES)
    files = {".h5ad": lambda path: _write(path, whole, columns), **columns.files()}
    return Plan(files, options, columns.notes, columns.tables())


def _write(path: Path, whole: Whole, columns: TextColumns) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        _say(file, "anndata", "0.1.0")
        _features(file, whole.features)
        known: dict[str, Sequence[str] | Array] = {**columns.cells}
        if whole.time is not None:
            known[columns.options.time] = whole.time
        _table(file, "obs", whole.ids, known)
        _table(file, "var", columns.features, {})
        for name in EMPTY:
            _say(file.create_group(name), "dict", "0.1.0")
        pairs = _say(file.create_group("obsp"), "dict", "0.1.0")
        _sparse(pairs, EDGES, _edges(whole))


def _edges(whole: Whole) -> CSR:
    """Return the edges as a matrix: row i holds a 1 in column j for an edge i -> j."""
    n = len(whole.ids)
    order = np.lexsort((whole.target, whole.source))
    counts = np.bincount(whole.source, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return CSR(indptr, whole.target[order].astype(np.int32), None, (n, n))


def _features(file: h5py.File, features: Array | CSR) -> None:
    if isinstance(features, CSR):
        _sparse(file, "X", features)
    else:
        _say(file.create_dataset("X", data=features), "array", "0.2.0")


def _sparse(group: h5py.Group, name: str, matrix: CSR) -> None:
    made = _say(group.create_group(name), "csr_matrix", "0.1.0")
    made.attrs["shape"] = np.array(matrix.shape, np.int64)
    made["data"] = named_arrays.values(matrix)
    made["indices"] = matrix.indices
    made["indptr"] = matrix.indptr


def _table(
    file: h5py.File, name: str, index: Sequence[str], columns: Mapping[str, Sequence[str] | Array]
) -> None:
    """Write a table: the names of its rows, and its columns of numbers or text."""
    import h5py

    made = _say(file.create_group(name), "dataframe", "0.2.0")
    made.attrs["_index"] = "_index"
    made.attrs.create("column-order", list(columns), (len(columns),), h5py.string_dtype())
    for column, cells in {"_index": index, **columns}.items():
        if isinstance(cells, np.ndarray):
            _say(made.create_dataset(column, data=cells), "array", "0.2.0")
        else:
            text = np.array([*cells, None], object)[:-1]
            stored = made.create_dataset(column, data=text, dtype=h5py.string_dtype())
            _say(stored, "string-array", "0.2.0")


def _say(node: h5py.Group | h5py.Dataset, kind: str, version: str) -> h5py.Group | h5py.Dataset:
    """State what an element is, and return it."""
    node.attrs["encoding-type"] = kind
    node.attrs["encoding-version"] = version
    return node
