"""All groups of a split one after the other: within a limit of memory where there is one, with
the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from taamctl.core import paths
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.rows import FeatureRows
from taamctl.core.slices import Slices
from taamctl.core.types import PARTS, Array
from taamctl.features import column_sizes, group_features, memory_limit
from taamctl.features.feature_source import GroupFeatures, opened
from taamctl.features.raw_features import Norm
from taamctl.features.split_parts import Parts
from taamctl.params.precompute_params import PrecomputeParams

# a group's number, its rows [low, high), what is stored of it
GroupEntries = tuple[int, int, int, dict[str, Array | Slices]]
LONG = 1 << 30  # edges x features from which on the end of every task is reported


class Writes(Protocol):
    """An artefact that is being written."""

    def put(self, path: str, values: Array | Slices) -> None:
        """Write an array."""

    def tick(self) -> None:
        """Raise what came between two arrays: Ctrl-C, or a full disk."""


@dataclass(frozen=True)
class Work:
    """What is to be done.

    Attributes:
        raw, parts, params: features, split, parameters.
        norm: the resolved normalisation: its name, or the sizes of the features once known.
        limit: bytes that the process may have.
    """

    raw: FeatureRows
    parts: Parts
    params: PrecomputeParams
    norm: Norm
    limit: int | None = None


class Begun(Protocol):
    """What begins the propagation: here, or on the workers of a cluster."""

    def __call__(
        self, work: Work, folder: Path, progress: Progress, tick: Callable[[], None]
    ) -> AbstractContextManager[tuple[str, Iterator[GroupEntries]]]:
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
    norm = column_sizes.resolved(work.norm, work.raw, parts.first_train, writer.tick)
    if not isinstance(norm, str):
        writer.put("features/size", norm)
        work = replace(work, norm=norm)
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
) -> Iterator[tuple[str, Iterator[GroupEntries]]]:
    """Read the raw features, and yield their hash and then every group.

    Args:
        folder: where a nameless scratch file goes, if one is needed.
        tick: called again and again; may raise to stop.

    Raises:
        TaamctlError: the limit is too low; it says how much would do.
    """
    width = stored = None
    if work.limit is not None:
        lengths = work.raw.lengths(tick)
        stored = None if lengths is None else int(lengths.sum())
        sizes = _sizes(work.raw, work.parts, lengths)
        width = memory_limit.columns_at_once(work.limit, sizes, work.params)
    with opened(work.raw, work.parts, work.norm, width, folder, progress, tick, stored) as features:
        yield features.sha256, _propagated(work, features, progress, tick)


def _sizes(raw: FeatureRows, parts: Parts, lengths: Array | None) -> memory_limit.Sizes:
    """Return what the memory depends on; `lengths` as of `FeatureRows.lengths`."""
    values = None
    n, f = raw.shape
    whole = 4 * n * f
    if lengths is not None:
        ends = np.concatenate([[0], np.cumsum(lengths[parts.orig_id])])
        values = np.diff(ends[parts.offset])
        whole = memory_limit.sparse(n, int(lengths.sum()))
    if raw.whole is not None:
        whole = 0
    entries = np.diff(parts.indptr[parts.offset])
    return memory_limit.Sizes(np.diff(parts.offset), entries, f, whole, values)


def _propagated(
    work: Work, features: GroupFeatures, progress: Progress, tick: Callable[[], None]
) -> Iterator[GroupEntries]:
    offset = work.parts.offset
    indptr = work.parts.indptr
    by_task = work.limit is not None or int(indptr[-1]) * work.raw.shape[1] >= LONG
    progress.start("propagate", int(indptr[-1] + offset[-1]))
    for g, (low, high) in enumerate(work.parts.bounds):
        x, h = features.group(g)
        group = group_features.compute(x, h, work.parts.edges(low, high), g, work.params, tick)
        yield g, low, high, group.entries(work.params)
        del group, x, h
        progress.advance(int(indptr[high] - indptr[low]) + high - low)
        if by_task and g % len(PARTS) == len(PARTS) - 1:
            nodes = offset[g + 1] - offset[g - 2]
            progress.line(f"task {g // len(PARTS) + 1}: {nodes:,} nodes propagated")
    progress.finish()
