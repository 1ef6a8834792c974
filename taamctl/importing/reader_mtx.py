"""Matrix Market: a square matrix of edges, with a node table, or with a matrix of features and a
file of labels.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import require_memory
from taamctl.core.types import Array
from taamctl.importing import column_names, headers, roles
from taamctl.importing.matrix_market import is_matrix, read_matrix, refuse_nan
from taamctl.importing.messages import shown
from taamctl.importing.node_ids import UNNAMED, called_like_ids, usable_names
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.reader_tables import node_table
from taamctl.importing.tables import Table, opened, read_table

if TYPE_CHECKING:
    import scipy.sparse as sp

_FEATURES = re.compile(r"feat|attr|(^|[^a-z])x([^a-z]|$)", re.IGNORECASE)
_LABELS = re.compile(r"label|class|target|(^|[^a-z])y([^a-z]|$)", re.IGNORECASE)


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the files say: entry (i, j) of the square matrix that is not 0 is an edge from
    node i to node j.

    Raises:
        TaamctlError: a damaged file, a matrix of edges that is not square, no features, more files
            than have a meaning.
    """
    found = {path: read_matrix(path) for path in paths if is_matrix(path)}
    matrices = {path: matrix for path, (matrix, _) in found.items()}
    tables = [path for path in paths if path not in matrices]
    _refuse_called_so(tables)
    label_path = _labels_among(matrices)
    labels = None if label_path is None else _dense(matrices.pop(label_path), label_path)
    edge_path, feature_path = _which(matrices)
    adjacency = matrices[edge_path].tocoo()
    _require_square(adjacency, edge_path)
    refuse_nan(adjacency, edge_path)
    _require_few(paths, len(tables) + (label_path is not None))
    raw = RawGraph(str(feature_path or edge_path), (), (), None, labels)
    if tables:
        raw = _of_table(tables[0], options, feature_path is not None, adjacency.shape[0])
    elif feature_path is None:
        raise TaamctlError(
            f"{edge_path} comes without features",
            "name a second file: a matrix of features, or a node table",
        )
    feature_where = raw.where
    if feature_path is not None:
        raw = replace(raw, features=matrices[feature_path])
        feature_where = str(feature_path)
    _require_fit(raw, adjacency, str(edge_path), feature_where)
    stored = adjacency.data != 0
    return replace(
        raw,
        source=adjacency.row[stored],
        target=adjacency.col[stored],
        edges_where=str(edge_path),
        by_row=True,
        taken=_taken(raw, options),
        notes=(
            *chain(*(said for _, said in found.values())),
            *raw.notes,
            *_notes_on_entries(adjacency.data, edge_path),
        ),
    )


def _taken(raw: RawGraph, options: ImportOptions) -> ImportOptions:
    """Return what was taken: the ends of edges are rows of the matrix."""
    return replace(raw.taken or options, ends="rows")


def _labels_among(matrices: dict[Path, sp.spmatrix]) -> Path | None:
    """Return the matrix that holds labels: by its name, or as the narrow one of three."""
    if len(matrices) < 2:
        return None
    for path in matrices:
        if _LABELS.search(path.name):
            return path
    for path, matrix in matrices.items():
        if len(matrices) > 2 and min(matrix.shape) == 1 and not _FEATURES.search(path.name):
            return path
    return None


def _refuse_called_so(tables: Sequence[Path]) -> None:
    for path in tables:
        if {".mtx", ".mm"} & {suffix.lower() for suffix in path.suffixes[-2:]}:
            with opened(path) as stream:
                first = shown(stream.readline(200).decode("utf-8", "replace"))
            raise TaamctlError(
                f"{path} is no Matrix Market file: it does not start with %%MatrixMarket, but "
                f"with {first!r}",
                "--format names another format; a list of edges is a table, with a node table "
                "beside it: --format table",
            )


def _require_few(paths: Sequence[Path], with_labels: int) -> None:
    if with_labels > 1:
        raise TaamctlError(
            f"{len(paths)} files are named, expected edges, features, and labels or a node table",
            "leave the others out",
        )


def _require_fit(raw: RawGraph, adjacency: sp.spmatrix, edges: str, features: str) -> None:
    if np.shape(raw.features)[0] != adjacency.shape[0]:
        raise TaamctlError(
            f"{edges} joins {adjacency.shape[0]:,} nodes, but {features} has features of "
            f"{np.shape(raw.features)[0]:,}",
            "both files come from one graph, nodes in one order",
        )


def _require_square(adjacency: sp.spmatrix, path: Path) -> None:
    if adjacency.shape[0] != adjacency.shape[1]:
        raise TaamctlError(
            f"{path}: a matrix of edges is square, this one is {adjacency.shape[0]:,} x "
            f"{adjacency.shape[1]:,}",
            "name the square matrix too; one that is not square holds features",
        )


def _notes_on_entries(entries: Array, path: Path) -> tuple[str, ...]:
    """Say what is not read of a matrix of edges."""
    zeros = int(np.count_nonzero(entries == 0))
    if zeros:
        return (f"{path}: {zeros:,} stored zeros are no edges",)
    if (entries != 1).any():
        return (f"{path}: the edges' weights are not read",)
    return ()


def _of_table(path: Path, options: ImportOptions, have_features: bool, n: int) -> RawGraph:
    """Return what a table of N nodes says, or a file with a label a line, with or without a
    header.
    """
    plain = read_table(
        path,
        options.delimiter,
        lambda cells: len(cells) > 1 or bool(column_names.guess(cells, column_names.LABEL)),
    )
    if len(plain.columns) > 1:
        if have_features and options.header != "no":
            _refuse_other_rows(plain, path, options, n)
        return _of_columns(path, options, have_features)
    if not have_features:
        raise TaamctlError(
            f"{path} has one column: labels, but no features",
            "name a matrix of features too, or a node table",
        )
    labels = next(iter(plain.columns.values()))
    return RawGraph(str(path), (), (), None, labels, notes=(f"{path}: one label a line",))


def _refuse_other_rows(table: Table, path: Path, options: ImportOptions, n: int) -> None:
    """Refuse a table that has not a row for each of N nodes."""
    if table.rows == n - headers.is_content(path):
        return
    names = list(table.columns)
    unsaid = not options.header and not column_names.guess(names, headers.USUAL)
    if unsaid and table.rows == n - 1:
        raise headers.ask(
            names, path, f"{table.rows:,} rows below the first for {n:,} nodes", either=False
        )
    raise TaamctlError(
        f"{path}: {table.rows:,} rows for the {n:,} nodes of the matrix of edges",
        "a table beside a matrix has one row for each of its rows, in their order",
    )


def _of_columns(path: Path, options: ImportOptions, have_features: bool) -> RawGraph:
    """Return what a node table of several columns says: a row for each of the matrix, so that none
    can be left out.
    """
    options = replace(options, bad_rows="refuse")
    table = node_table(path, options, features=not have_features)
    options = column_names.whole_names(options, list(table.columns))
    chosen = roles.roles(list(table.columns), options, table.where)
    found = chosen.id
    # Where a table has no other id, the nameless column that it was written with names the nodes.
    first = next(iter(table.columns))
    if not found and UNNAMED.fullmatch(first) and usable_names(table.columns[first], table.rows):
        options = replace(options, id=first)
    elif not found:
        others = roles.without_meaning(table, chosen, options)
        like_ids = called_like_ids(table.columns, others)
        if len(like_ids) == 1:
            options = replace(options, id=like_ids[0])
            table = node_table(path, options, features=not have_features)  # its cells as text
    if options.id or not found or usable_names(table.columns[found], table.rows):
        return roles.nodes(table, options, have_features)
    without = replace(options, ignore=(*options.ignore, found))
    raw = roles.nodes(table, without, have_features)
    note = f"{path}: {found!r} does not name every node once, so it is not read as their names"
    return replace(raw, notes=(*raw.notes, note))


def _which(matrices: dict[Path, sp.spmatrix]) -> tuple[Path, Path | None]:
    """Return the matrix of edges and that of features: told by their shapes, else by their
    names, else by their order.
    """
    if not 1 <= len(matrices) <= 2:
        raise TaamctlError(
            f"{len(matrices)} matrices are named, expected edges, and perhaps features",
            "leave the others out",
        )
    first, *rest = sorted(
        matrices,
        key=lambda p: (
            matrices[p].shape[0] != matrices[p].shape[1],
            bool(_FEATURES.search(p.stem)),
        ),
    )
    return first, rest[0] if rest else None


def _dense(matrix: sp.spmatrix, path: Path) -> Array:
    require_memory(8 * matrix.shape[0] * matrix.shape[1], str(path), "its labels")
    dense: Array = matrix.toarray()
    return dense.ravel() if min(dense.shape) == 1 else dense
