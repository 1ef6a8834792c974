"""What a split says of its groups: rows, and the edges among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.types import CSR, Array


class SplitArtefact(Protocol):
    """A split, open for reading."""

    path: Path

    def read(self, path: str) -> Array:
        """Return one whole array, checked."""

    def rows(self, path: str, low: int, high: int) -> Array:
        """Return some rows of an array, unchecked."""

    def verify(self, path: str) -> None:
        """Check an array, a few rows at a time."""

    def attribute(self, name: str) -> Plain:
        """Return a root attribute."""


@dataclass(frozen=True)
class Parts:
    """What a split says: rows, and the edges among them, which are read group by group.

    Attributes:
        orig_id: [N] the node of every row. offset: [G + 1] group boundaries. indptr: [N + 1] row
            pointer of the edges.
        columns: entries [low, high) of the edges' column numbers, as an array of its own.
        y: [N] the class of every row.
        features_sha256: hash of the raw features that the split was made from.
        passed: arrays that are kept with the features as they are, by path.
        dataset, where, made_by: the data set, the split's file, and the command that makes it,
            for messages.
    """

    orig_id: Array
    offset: Array
    indptr: Array
    columns: Callable[[int, int], Array]
    y: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    features_sha256: str = ""
    passed: dict[str, Array] = field(default_factory=dict)
    dataset: str = ""
    where: str = ""
    made_by: str = ""

    @staticmethod
    def read(split: SplitArtefact, made_by: str) -> Parts:
        """Return what an open split says; its edges are checked now and read later."""
        split.verify("edges/indices")
        return Parts(
            split.read("nodes/orig_id"),
            split.read("stream/offset"),
            split.read("edges/indptr"),
            lambda low, high: split.rows("edges/indices", low, high),
            split.read("nodes/y"),
            str(split.attribute("features_sha256")),
            {path: split.read(path) for path in ("stream/bounds", "classes/name")},
            str(split.attribute("dataset")),
            str(split.path),
            made_by,
        )

    @staticmethod
    def of(orig_id: Array, offset: Array, edges: CSR) -> Parts:
        """Return a split whose edges, [N, N] binary and block-diagonal, are in memory."""

        def columns(low: int, high: int) -> Array:
            return edges.indices[low:high].copy()

        return Parts(orig_id, offset, edges.indptr, columns)

    @property
    def bounds(self) -> list[tuple[int, int]]:
        """Return the rows [low, high) of every group."""
        return list(pairwise(self.offset.tolist()))

    @property
    def first_train(self) -> Array:
        """Return the training nodes of the first task."""
        return self.orig_id[: int(self.offset[1])]

    def edges(self, low: int, high: int) -> CSR:
        """Return the edges of the group with rows [low, high), numbered from 0."""
        a, b = int(self.indptr[low]), int(self.indptr[high])
        inside = self.columns(a, b)
        inside -= np.int32(low)
        return CSR(self.indptr[low : high + 1] - a, inside, None, (high - low, high - low))
