"""A user's own .npz: the gnn-benchmark keys, or plain arrays such as x, edge_index and y."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.graph.npz_check import require_sound
from taamctl.graph.raw_values import reading, require_text
from taamctl.graph.shchur_npz import check_rows, entries
from taamctl.importing.arrays import Unread, from_arrays, only
from taamctl.importing.messages import quoted, shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import opened

if TYPE_CHECKING:
    import scipy.sparse as sp

_CONVERT = (
    "where you trust the file, write it anew in Python: "
    "g = np.load({0!r}, allow_pickle=True); a = g['adj_matrix'].item().tocoo(); "
    "np.savez('plain.npz', edge_index=np.stack([a.row, a.col]), "
    "x=g['node_attr'].item().toarray(), y=g['node_label'])"
)
_AS_MTX = "import scipy.io, scipy.sparse as s; scipy.io.mmwrite({1!r}, s.load_npz({0!r}))"
_PARTS = ("data", "indices", "indptr", "shape")


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the arrays say; nothing is unpickled.

    Raises:
        TaamctlError: damaged, an array that is a pickled object, or no features or edges among the
            arrays.
    """
    path = only(paths, "an .npz file")
    where = str(path)
    with opened(path) as stream:
        if not stream.read(6).startswith((b"PK", b"\x93NUMPY")):
            raise TaamctlError(
                f"{where} is no .npz file, whatever its name says", "--format names another format"
            )
    arrays, unread = _contents(path)
    unlabelled = arrays.pop("unlabelled_idx", None)
    _check_matrices(arrays, where)
    ends: tuple[Array, Array] | None = None
    nodes: int | None = None
    if "adj_data" in arrays:
        ends = entries(arrays, where)
        nodes = int(arrays["adj_shape"][0])
        arrays = {k: v for k, v in arrays.items() if not k.startswith("adj_")}
    _join_features(arrays, where)
    raw = from_arrays({**arrays, **unread}, options, where, ends, nodes, by_row=ends is not None)
    return replace(raw, labels=_without(raw.labels, unlabelled, where))


def _contents(path: Path) -> tuple[dict[str, Array], dict[str, Unread]]:
    """Return the arrays of a file, and what of it is not read."""
    where = str(path)
    with opened(path) as stream, reading(where):
        require_sound(stream, where)
        archive = np.load(stream, allow_pickle=False)
        if not hasattr(archive, "files"):
            raise TaamctlError(
                f"{where} holds one array, expected several with names",
                "save them with np.savez(path, x=..., edge_index=..., y=...)",
            )
        _refuse_one_matrix(archive, where)
        kept = {key: _array(archive, key, where) for key in archive.files}
    arrays = {key: value for key, value in kept.items() if not isinstance(value, Unread)}
    return arrays, {key: value for key, value in kept.items() if isinstance(value, Unread)}


def _without(labels: Array | None, unlabelled: Array | None, where: str) -> Array | None:
    """Return labels, -1 at the rows that a file states to have none."""
    if unlabelled is None or labels is None:
        return labels
    with reading(where):
        kind = np.int64 if labels.dtype.kind in "iu" else np.float64
        made = np.array(labels, kind)
        made[unlabelled] = -1
    return made


def _check_matrices(arrays: dict[str, Array], where: str) -> None:
    """Refuse a sparse matrix of the benchmark's keys that is not whole or contradicts itself."""
    for prefix in ("adj", "attr"):
        if any(f"{prefix}_{part}" in arrays for part in _PARTS):
            _require(arrays, prefix, where)
            _as_numbers(arrays, prefix, where)
            with reading(where):
                data, indices, indptr, shape = (arrays[f"{prefix}_{part}"] for part in _PARTS)
                check_rows(indptr, indices, data, shape, where, prefix)


def _join_features(arrays: dict[str, Array], where: str) -> None:
    """Put the features of the benchmark's keys under the usual one, in place."""
    if "attr_data" in arrays:
        features = _sparse(arrays, where)
        for part in _PARTS:
            del arrays[f"attr_{part}"]
        arrays["features"] = features
    elif "attr_matrix" in arrays:
        arrays["features"] = arrays.pop("attr_matrix")


def _array(archive: Mapping[str, Array], key: str, where: str) -> Array | Unread:
    """Return an array; what is a pickled object is left alone, as reading it could run code."""
    try:
        return require_text(archive[key])
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
    if _is_scipy(archive, key):
        return Unread("a pickled SciPy matrix, which is not unpickled", _CONVERT.format(where))
    return Unread(
        "Python objects, which are not unpickled",
        "save text as np.array(names, dtype=str), and numbers with their own type",
    )


def _is_scipy(archive: Mapping[str, Array], key: str) -> bool:
    """Tell whether the pickle of an array begins with a SciPy matrix; it is looked at, not run."""
    with archive.zip.open(f"{key}.npy") as stream:  # type: ignore[attr-defined]
        return b"scipy.sparse" in stream.read(1024)


def _refuse_one_matrix(archive: Mapping[str, Array], where: str) -> None:
    """Refuse what scipy.sparse.save_npz writes: edges or features, but not both."""
    if {"format", "data", "shape"} <= set(archive) and len(list(archive)) <= 5:
        made = str(Path(where).with_suffix(".mtx"))
        raise TaamctlError(
            f"{where} holds one sparse matrix, as scipy.sparse.save_npz writes it",
            "make Matrix Market files of the edges and of the features, and name both: "
            f"python -c {quoted(_AS_MTX.format(where, made))}",
        )


def _require(arrays: dict[str, Array], prefix: str, where: str) -> None:
    lacking = [f"{prefix}_{part}" for part in _PARTS if f"{prefix}_{part}" not in arrays]
    if lacking:
        raise TaamctlError(
            f"{where}: no array called {lacking[0]}; there are: {', '.join(sorted(arrays))}",
            f"a sparse matrix is saved as {', '.join(f'{prefix}_{part}' for part in _PARTS)}",
        )


def _as_numbers(arrays: dict[str, Array], prefix: str, where: str) -> None:
    """Refuse parts of a sparse matrix that are no numbers, or positions that are not whole; make
    positions without a sign signed, in place.
    """
    for part in _PARTS:
        held = arrays[f"{prefix}_{part}"]
        kinds, wanted = ("biuf", "numbers") if part == "data" else ("iu", "whole numbers")
        if held.dtype.kind not in kinds:
            raise TaamctlError(
                f"{where}: {prefix}_{part} holds {shown(held.dtype)}, no {wanted}",
                "save the parts of a scipy.sparse.csr_matrix as they are",
            )
        if held.dtype == np.uint64 and part != "data":
            arrays[f"{prefix}_{part}"] = held.astype(np.int64)


def _sparse(arrays: dict[str, Array], where: str) -> sp.csr_matrix:
    import scipy.sparse as sp

    data, indices, indptr, shape = (arrays[f"attr_{part}"] for part in _PARTS)
    wrong = np.flatnonzero((indices < 0) | (indices >= shape[1]))
    if len(wrong):
        row = int(np.searchsorted(indptr, wrong[0], side="right")) - 1
        raise TaamctlError(
            f"{where}: feature column {indices[wrong[0]]} at row {row}, but columns run from 0 to "
            f"{shape[1] - 1}",
            "the file contradicts itself; write it again",
        )
    return sp.csr_matrix((data, indices, indptr), shape=tuple(int(s) for s in shape))
