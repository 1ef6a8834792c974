"""Labels and features as svmlight and libsvm write them, and an edge list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.graph.raw_values import reading
from taamctl.importing import reader_tables
from taamctl.importing.held_table import unzipped_suffix
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import opened

if TYPE_CHECKING:
    import scipy.sparse as sp

SUFFIXES = (".svm", ".svmlight", ".libsvm")
TWO = {-1.0, 1.0}  # how these programmes call two classes; 0 then means none
TWO_NAMES = ("-1", "+1")


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the two files say: line i is node i, and ends of edges count lines from 0.

    Features are counted from 0 where one is, else from 1. Labels -1 and +1 are two classes.

    Raises:
        TaamctlError: not two files, a damaged line, several labels of one node.
    """
    features, edges = _which(paths)
    x, labels = _loaded(features)
    names: tuple[str, ...] = ()
    if set(np.unique(labels).tolist()) - {0.0} == TWO:
        labels, names = np.select([labels < 0, labels > 0], [0, 1], -1), TWO_NAMES
    source, target, notes = reader_tables.edge_columns(
        reader_tables.edge_table(edges, options), options
    )
    source, target, left = reader_tables.ends(
        source, target, str(edges), have_ids=False, bad=options.bad_edges
    )
    said = f"{features}: labels and {x.shape[1]:,} features; nodes are numbered by lines from 0"
    return RawGraph(
        str(features),
        source,
        target,
        x,
        labels,
        class_names=names,
        edges_where=str(edges),
        by_row=True,
        notes=(said, *notes, *left),
    )


def _which(paths: Sequence[Path]) -> tuple[Path, Path]:
    """Return the file of features and the edge list."""
    like = [path for path in paths if unzipped_suffix(path) in SUFFIXES]
    like = like or [path for path in paths if _like_features(path)]
    others = [path for path in paths if path not in like]
    if len(like) != 1 or len(others) != 1:
        raise TaamctlError(
            f"{', '.join(map(str, paths))}: expected a file of features and an edge list",
            "name two: one of lines such as `3 1:0.5 7:2`, and an edge list (source, target)",
        )
    return like[0], others[0]


def _like_features(path: Path) -> bool:
    """Tell whether the first line that is no comment holds a feature such as 7:0.5."""
    with opened(path) as stream:
        lines = stream.read(1 << 16).decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return ":" in first.partition(" ")[2]


def _loaded(path: Path) -> tuple[sp.csr_matrix, Array]:
    """Return features [N, F] float32 and labels [N] float64."""
    from sklearn.datasets import load_svmlight_file

    with opened(path) as stream, reading(str(path)):
        x, labels = load_svmlight_file(stream, dtype=np.float32, zero_based="auto")
    if not len(labels):
        raise TaamctlError(f"{path} holds no line", "check how it was written")
    return x, np.asarray(labels)
