"""All groups of a split one after the other: within a limit of memory where there is one, with
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from taamctl.core import paths
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.progress import Progress
from taamctl.core.rows import FeatureRows
from taamctl.core.slices import Slices
from taamctl.core.types import CSR, PARTS, Array
from taamctl.features import group_features, memory_limit
from taamctl.features.feature_source import GroupFeatures, opened
from taamctl.params.precompute_params import PrecomputeParams

# a group's number, its rows [low, high), what is stored of it
Made = tuple[int, int, int, dict[str, Array | Slices]]
LONG = 1 << 30  # edges x features from which on the end of every task is reported


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


class Writes(Protocol):
    """An artefact that is being written."""

    def put(self, path: str, values: Array | Slices) -> None:
        """Write an array."""

    def tick(self) -> None:
        """Raise what came between two arrays: Ctrl-C, or a full disk."""


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

    def edges(self, low: int, high: int) -> CSR:
        """Return the edges of the group with rows [low, high), numbered from 0."""
        a, b = int(self.indptr[low]), int(self.indptr[high])
        inside = self.columns(a, b)
        inside -= np.int32(low)
        return CSR(self.indptr[low : high + 1] - a, inside, None, (high - low, high - low))


@dataclass(frozen=True)
class Work:
    """What is to be done: features, split, parameters, the resolved normalisation, and the bytes
    that the process may have.
    """

    raw: FeatureRows
    parts: Parts
    params: PrecomputeParams
    norm: str
    limit: int | None = None


class Begun(Protocol):
    """What begins the propagation: here, or on the workers of a cluster."""

    def __call__(
        self, work: Work, folder: Path, progress: Progress, tick: Callable[[], None]
    ) -> AbstractContextManager[tuple[str, Iterator[Made]]]:
        """Read the raw features, and yield their hash and then every group."""


def write(writer: Writes, work: Work, begun: Begun, folder: Path, progress: Progress) -> None:
    """Propagate all groups and write each as it comes.

    Args:
        folder: where scratch files go.

    Raises:
        TaamctlError: the raw features are not those of the split.
    """
    parts = work.parts
    for path, array in parts.passed.items():
        writer.put(path, array)
    with begun(work, folder, progress, writer.tick) as (sha256, made):
        if sha256 != parts.features_sha256:
            raise TaamctlError(
                f"the raw data of {parts.dataset} is not what {parts.where} was made from",
                f"run {parts.made_by} again",
            )
        for g, low, high, entries in made:
            place = paths.group(g // len(PARTS), PARTS[g % len(PARTS)])
            own = {"orig_id": parts.orig_id[low:high], "y": parts.y[low:high]}
            for name, values in (own | entries).items():
                writer.put(f"{place}/{name}", values)


@contextmanager
def begun(
    work: Work, folder: Path, progress: Progress, tick: Callable[[], None]
) -> Iterator[tuple[str, Iterator[Made]]]:
    """Read the raw features, and yield their hash and then every group.

    Args:
        folder: where a nameless scratch file goes, if one is needed.
        tick: called again and again; may raise to stop.

    Raises:
        TaamctlError: the limit is too low; it says how much would do.
    """
    parts, raw = work.parts, work.raw
    width = stored = None
    if work.limit is not None:
        lengths = raw.lengths(tick)
        stored = None if lengths is None else int(lengths.sum())
        width = memory_limit.columns_at_once(work.limit, _sizes(raw, parts, lengths), work.params)
    with opened(
        raw, parts.orig_id, parts.offset, work.norm, width, folder, progress, tick, stored
    ) as features:
        yield features.sha256, _made(work, features, progress, tick)


def _sizes(raw: FeatureRows, parts: Parts, lengths: Array | None) -> memory_limit.Sizes:
    """Return what the memory depends on; `lengths` as of `FeatureRows.lengths`."""
    values, (n, f) = None, raw.shape
    if lengths is not None:
        ends = np.concatenate([[0], np.cumsum(lengths[parts.orig_id])])
        values = np.diff(ends[parts.offset])
    whole = (
        0
        if raw.whole is not None
        else 4 * n * f
        if lengths is None
        else memory_limit.sparse(n, int(lengths.sum()))
    )
    return memory_limit.Sizes(
        np.diff(parts.offset), np.diff(parts.indptr[parts.offset]), f, whole, values
    )


def _made(
    work: Work, features: GroupFeatures, progress: Progress, tick: Callable[[], None]
) -> Iterator[Made]:
    offset, indptr = work.parts.offset, work.parts.indptr
    told = work.limit is not None or int(indptr[-1]) * work.raw.shape[1] >= LONG
    progress.start("propagate", int(indptr[-1] + offset[-1]))
    for g, (low, high) in enumerate(pairwise(offset.tolist())):
        x, h = features.group(g)
        made = group_features.compute(x, h, work.parts.edges(low, high), g, work.params, tick)
        yield g, low, high, made.entries(work.params)
        del made, x, h
        progress.advance(int(indptr[high] - indptr[low]) + high - low)
        if told and g % len(PARTS) == len(PARTS) - 1:
            progress.line(
                f"task {g // len(PARTS)}: {offset[g + 1] - offset[g - 2]:,} nodes propagated"
            )
    progress.finish()
