"""What all raw-file readers share: faults that name the file, labels, dense features, class
names, the size check.
"""

from __future__ import annotations

import pickle
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph

_FAULTS = (
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    SystemError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def reading(where: str) -> Iterator[None]:
    """Turn whatever a broken or truncated file makes a parser raise into one error that names
    the file.
    """
    try:
        yield
    except _FAULTS as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TaamctlError(
            f"{where} cannot be read: {reason}",
            "the file is truncated or not what its name says; delete it and get it again",
        ) from error


def default_class_names(count: int) -> tuple[str, ...]:
    """Return `class 0` ... `class C-1`, for data sets whose files name no classes."""
    return tuple(f"class {i}" for i in range(count))


def clean_labels(values: Any, where: str) -> tuple[Array, tuple[str, ...]]:
    """Return labels as [N] int64, where -1 marks an unlabelled node, and notes on what was changed.

    Args:
        values: [N] or [N, 1], integers or floats that are whole numbers; NaN and negative numbers
            mean unlabelled.
        where: the file, for messages.

    Raises:
        TaamctlError: another shape or type, or a label such as 3.5; the message names the row.
    """
    raw = np.asarray(values)
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim != 1 or raw.dtype.kind not in "iufb":
        raise TaamctlError(
            f"{where}: labels are {raw.dtype} {raw.shape}, expected one whole number per node"
        )
    known = np.isfinite(raw) & (raw >= 0)
    fraction = np.flatnonzero(known & (raw != np.floor(raw)))
    if len(fraction):
        row = int(fraction[0])
        raise TaamctlError(f"{where}: label {raw[row]} at row {row} is no whole number")
    labels = np.full(len(raw), -1, np.int64)  # apart: no unsigned type holds -1
    labels[known] = raw[known].astype(np.int64)
    missing = int((~known).sum())
    return labels, (f"{missing:,} nodes have no label",) if missing else ()


def dense_features(values: Any, where: str) -> tuple[Array, tuple[str, ...]]:
    """Return features as C-ordered [N, F] float32, and a note where they had another type."""
    raw = np.asarray(values)
    if raw.ndim != 2 or raw.dtype.kind not in "iufb":
        raise TaamctlError(
            f"{where}: features are {raw.dtype} {raw.shape}, expected one row of numbers per node"
        )
    notes = () if raw.dtype == np.float32 else (f"features cast from {raw.dtype} to float32",)
    return np.ascontiguousarray(raw, np.float32), notes


def check_size(graph: NodeGraph, nodes: int, features: int, where: str) -> NodeGraph:
    """Return `graph` if it has N = `nodes` and F = `features`; a file in the right place may
    hold another graph.
    """
    if (graph.num_nodes, graph.num_features) != (nodes, features):
        raise TaamctlError(
            f"{where} holds {graph.num_nodes:,} nodes with {graph.num_features:,} features; "
            f"{graph.name} has {nodes:,} with {features:,}",
            "that is another graph or version; move it away and run `taamctl data fetch "
            f"{graph.name}`",
        )
    return graph
