"""MATLAB's .mat files up to version 7: a matrix of edges, one of features, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.importing import guarded
from taamctl.importing.arrays import Unread, from_arrays, only
from taamctl.importing.column_names import guess
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import require_file

if TYPE_CHECKING:
    import scipy.sparse as sp

_HINT = "the file is truncated or no .mat file up to version 7; save it again in MATLAB with -v7"
_EDGES = ("network", "net", "adj", "adjacency", "adjmatrix", "a", "w", "graph")
_FEATURES = ("attributes", "attrb", "attr", "features", "feat", "fea", "x")
_LABELS = ("label", "labels", "group", "gnd", "class", "y")
_WHY = Unread("no numbers or text", "write it as a plain matrix in MATLAB")


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the matrices say, among them those that DeepWalk and GPN use: `network` and
    `group`, or `Network`, `Attributes` and `Label`. Entry (i, j) that is not 0 is an edge.

    Raises:
        TaamctlError: damaged, version 7.3, or no square matrix of edges.
    """
    path = only(paths, "a .mat file")
    where = str(path)
    require_file(path)
    found = guarded.call("mat_child:matrices_of", path, _HINT)
    kept = {key: _WHY if value is None else value for key, value in found.items()}
    edges = options.source or guess(kept, _EDGES)
    adjacency = _square(kept, edges, where)
    rest = {key: value for key, value in kept.items() if key != edges}
    label = options.label or guess(rest, _LABELS)
    if label in rest and not isinstance(rest[label], Unread):
        rest[label] = _labels(rest[label])
    features = options.features or tuple(filter(None, [guess(rest, _FEATURES)]))
    told = replace(options, label=label, features=features, source="", target="")
    ends = (adjacency.row, adjacency.col)
    notes = (f"{where}: edges from {edges!r}",)
    raw = from_arrays(rest, told, where, ends, adjacency.shape[0], notes, by_row=True)
    return replace(raw, taken=replace(raw.taken or told, source=edges))


def _square(kept: dict[str, Plain], key: str, where: str) -> sp.coo_matrix:
    """Return the matrix of edges, without the zeros that it stores."""
    import scipy.sparse as sp

    value = kept.get(key)
    if value is None or isinstance(value, Unread):
        raise TaamctlError(
            f"{where} holds no matrix of edges: none of {', '.join(kept) or 'nothing'} is called "
            "network or A",
            "--source KEY names it, --features KEY and --label KEY the others",
        )
    made = sp.coo_matrix(value)
    if made.shape[0] != made.shape[1]:
        raise TaamctlError(
            f"{where}: {key!r} is {made.shape[0]:,} x {made.shape[1]:,}, but a matrix of edges is "
            "square",
            "--source KEY names another",
        )
    made.eliminate_zeros()
    return made


def _labels(value: Plain) -> Plain:
    """Return labels as one column, or as one-hot rows: MATLAB has no vectors, only matrices."""
    import scipy.sparse as sp

    dense = value.toarray() if sp.issparse(value) else np.asarray(value)
    return dense.ravel() if 1 in dense.shape else dense
