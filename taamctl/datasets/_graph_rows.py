"""A user's own graph, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from taamctl.core.edge_rows import EdgeRows, GraphRows, Read
from taamctl.core.rows import FeatureRows, block_rows
from taamctl.core.types import CSR, Array, Given
from taamctl.datasets._graph_file import opened

STATED = ("arrival", "part", "time")  # what a split reads of what a graph states


def features(path: Path) -> FeatureRows:
    """Return the features of `data/NAME.h5` row by row; no more is read than that, and nothing of
    it is checked but by who reads it.

    Raises:
        TaamctlError: missing, damaged, unfinished, or no imported graph.
    """
    with opened(path) as file:
        shape = (file.shape("labels")[0], int(file.attribute("num_features")))
        dense = file.has("features/dense")
    return FeatureRows(shape, lambda: _blocks(path, shape, dense))


def graph(path: Path) -> GraphRows:
    """Return `data/NAME.h5` of which nothing large is in memory; names of nodes are left out.

    Raises:
        TaamctlError: missing, damaged, unfinished, or no imported graph.
    """
    with opened(path) as file:
        stated = {name: file.read(f"given/{name}") for name in STATED if file.has(f"given/{name}")}
        return GraphRows(
            EdgeRows(file.read("adjacency/indptr"), lambda: _edges(path)),
            features(path),
            file.read("labels"),
            tuple(file.read("classes/name").tolist()),
            tuple(file.read("notes").tolist()) if file.has("notes") else (),
            Given(**stated),
        )


@contextmanager
def _edges(path: Path) -> Iterator[Read]:
    with opened(path) as file:
        yield lambda low, high: file.rows("adjacency/indices", low, high)


def _blocks(path: Path, shape: tuple[int, int], dense: bool) -> Iterator[Array | CSR]:
    n, step = shape[0], block_rows(shape[1])
    with opened(path) as file:
        indptr = None if dense else file.read("features/indptr")
        for low in range(0, n, step):
            high = min(n, low + step)
            if indptr is None:
                yield file.rows("features/dense", low, high)
            else:
                a, b = int(indptr[low]), int(indptr[high])
                data = file.rows("features/data", a, b) if file.has("features/data") else None
                yield CSR(
                    indptr[low : high + 1] - a,
                    file.rows("features/indices", a, b),
                    data,
                    (high - low, shape[1]),
                )
