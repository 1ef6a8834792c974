"""The features of an imported graph, `data/NAME.h5`, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from taamctl.core.rows import FeatureRows, block_rows
from taamctl.core.types import CSR, Array
from taamctl.store import artefacts


def features(path: Path, kind: str, made_by: str) -> FeatureRows:
    """Return the features of `data/NAME.h5` row by row; no more is read than that, and nothing of
    it is checked but by who reads it.

    Args:
        kind: the kind of artefact. made_by: the command that writes it, for messages.

    Raises:
        TaamctlError: missing, damaged, unfinished, or no imported graph.
    """
    with artefacts.Artefact(path, kind, made_by) as file:
        shape = (file.shape("labels")[0], int(file.attribute("num_features")))
        dense = file.has("features/dense")
    return FeatureRows(shape, lambda: _blocks(path, kind, made_by, shape, dense))


def _blocks(
    path: Path, kind: str, made_by: str, shape: tuple[int, int], dense: bool
) -> Iterator[Array | CSR]:
    n, step = shape[0], block_rows(shape[1])
    with artefacts.Artefact(path, kind, made_by) as file:
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
