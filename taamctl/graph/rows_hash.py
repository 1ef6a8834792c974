"""Hashes of a graph that comes a range of rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.edge_rows import GraphRows
from taamctl.core.rows import FeatureRows
from taamctl.core.types import CSR, Array, require_finite
from taamctl.graph.canonical import FeatureHash

if TYPE_CHECKING:
    from hashlib import _Hash


def feature_hash(features: FeatureRows) -> str:
    """Return the hash of features: `FeatureHash` over all rows.

    Raises:
        TaamctlError: a feature that is not finite.
    """
    digest = FeatureHash()
    first = 0
    for block in features:
        require_finite("the graph", block, first)
        digest.update(block)
        first += block.shape[0]
    return digest.hexdigest()


def content_hash(graph: GraphRows) -> str:
    """Return a sha256 over the graph's edges, features and labels, whatever file they are from:
    dtype, shape and bytes of each array, one after the other.
    """
    digest = hashlib.sha256()
    _add(digest, graph.edges.indptr)
    _announce(digest, np.dtype(np.int32), (graph.edges.nnz,))
    for _, _, columns in graph.edges.blocks():
        _bytes(digest, columns)
    _features(digest, graph.features)
    _add(digest, graph.labels)
    return digest.hexdigest()


def _announce(digest: _Hash, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
    digest.update(f"{dtype.str}{shape}".encode())


def _bytes(digest: _Hash, array: Array) -> None:
    digest.update(np.ascontiguousarray(array).data)


def _add(digest: _Hash, array: Array) -> None:
    _announce(digest, array.dtype, array.shape)
    _bytes(digest, array)


def _features(digest: _Hash, features: FeatureRows) -> None:
    """Add dense rows, or the three arrays of CSR ones, each from a pass of its own."""
    lengths = features.lengths()
    if lengths is None:
        _announce(digest, np.dtype(np.float32), features.shape)
        for block in features:
            _bytes(digest, np.asarray(block))
        return
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    _add(digest, indptr)
    _array(digest, features, int(indptr[-1]), np.dtype(np.int32), lambda block: block.indices)
    _array(digest, features, int(indptr[-1]), np.dtype(np.float32), lambda block: block.data)


def _array(
    digest: _Hash,
    features: FeatureRows,
    size: int,
    dtype: np.dtype[np.generic],
    of: Callable[[CSR], Array | None],
) -> None:
    """Add an array of CSR rows, where they have it."""
    begun = False
    for block in features:
        assert isinstance(block, CSR)
        values = of(block)
        if values is None:
            return
        if not begun:
            _announce(digest, dtype, (size,))
            begun = True
        _bytes(digest, values)
