"""The raw features of every group: in memory, or in a scratch file, from one pass over a data
set's rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import Protocol, cast

import numpy as np

from taamctl.core.data_set import DataSet
from taamctl.core.errors import TaamctlError
from taamctl.core.memory import mib, used
from taamctl.core.progress import Progress
from taamctl.core.rows import HINT, FeatureRows, of_whole
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm, empty_like, in_memory, normalise
from taamctl.features.split_parts import Parts
from taamctl.graph.canonical import FeatureHash
from taamctl.propagation.column_blocks import Blocks, FileBlocks, dense_rows

Tick = Callable[[], None]
IMPORT = (
    "raise --max-memory; or bring the graph in with taamctl data import: features of the "
    "file that it makes are read in slices"
)


class GroupFeatures(Protocol):
    """Where the features of a group are, and where those that are made of them go."""

    sha256: str

    def group(self, index: int) -> tuple[Blocks, Blocks]:
        """Return X of a group, and a matrix of the same shape to fill; the next call may reuse
        it.
        """


def rows_of(
    source: DataSet, root: Path | None, params: object, limit: int | None = None
) -> FeatureRows:
    """Return a data set's features: row by row where it offers them, else those of
    its whole graph.

    Raises:
        TaamctlError: the whole graph has to be loaded, and its edges alone are more than `limit`,
            the bytes that the process may have.
    """
    if source.rows is not None:
        return source.rows(root, params)
    least = used() + 4 * source.meta.edges + 8 * source.meta.nodes
    if limit is not None and least > limit:
        raise TaamctlError(
            f"{limit >> 20} MiB of memory are too little to load the whole graph: it takes "
            f"{mib(least)} MiB at least",
            IMPORT,
        )
    return of_whole(source.load(root, params).features)


class InMemory:
    """Raw features in memory."""

    def __init__(
        self,
        raw: FeatureRows,
        parts: Parts,
        norm: Norm,
        stored: int | None,
        progress: Progress,
        tick: Tick,
    ) -> None:
        digest = FeatureHash()
        blocks = _hashed(_counted(raw, progress, tick), digest)
        if raw.whole is None:
            self._raw = _joined(blocks, raw.shape, stored)
        else:
            self._raw = raw.whole
            deque(blocks, maxlen=0)
        self.sha256 = digest.hexdigest()
        self._norm = norm
        self._parts = parts

    def group(self, index: int) -> tuple[Blocks, Blocks]:
        """Take the rows of a group."""
        low, high = self._parts.bounds[index]
        x = in_memory(self._raw, self._parts.orig_id[low:high], self._norm)
        return x, empty_like(x)


class OnDisk:
    """Normalised features in a scratch file, group after group, and behind them room for what is
    made of one group.
    """

    def __init__(
        self,
        file: int,
        raw: FeatureRows,
        parts: Parts,
        norm: Norm,
        width: int,
        progress: Progress,
        tick: Tick,
    ) -> None:
        f = raw.shape[1]
        self._file = file
        self._end = 4 * f * int(parts.offset[-1])
        self._width = width
        self._offset = parts.offset
        self._groups = [
            FileBlocks(file, (high - low, f), width, 4 * f * low) for low, high in parts.bounds
        ]
        place = places(raw.shape[0], parts.orig_id)
        digest = FeatureHash()
        seen = 0
        for block in _hashed(_counted(raw, progress, tick), digest):
            self._sort_in(normalise(block, norm), place[seen : seen + block.shape[0]])
            seen += block.shape[0]
        self.sha256 = digest.hexdigest()

    def _sort_in(self, block: Array | CSR, place: Array) -> None:
        """Write every run of rows that lie side by side in one group."""
        order = np.argsort(place, kind="stable")
        order = order[place[order] >= 0]
        at = place[order]
        dense = dense_rows(block, 0, block.shape[0])
        owner = np.searchsorted(self._offset, at, side="right") - 1
        cuts = np.flatnonzero((np.diff(at) != 1) | (np.diff(owner) != 0)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(at)]):
            if high > low:
                group = int(owner[low])
                row = int(at[low] - self._offset[group])
                self._groups[group].write_rows(row, dense[order[low:high]])

    def group(self, index: int) -> tuple[Blocks, Blocks]:
        """Return where a group lies."""
        x = self._groups[index]
        return x, FileBlocks(self._file, x.shape, self._width, self._end)


def places(num_nodes: int, orig_id: Array) -> Array:
    """Return the grouped row of every node, [num_nodes] int32; -1 where it has none."""
    place = np.full(num_nodes, -1, np.int32)
    place[orig_id] = np.arange(len(orig_id), dtype=np.int32)
    return place


@contextmanager
def opened(
    raw: FeatureRows,
    parts: Parts,
    norm: Norm,
    width: int | None,
    folder: Path,
    progress: Progress,
    tick: Tick,
    stored: int | None = None,
) -> Iterator[GroupFeatures]:
    """Yield the features of all groups.

    Args:
        raw: the features of all nodes; one pass is made over them.
        norm: `none`, `row`, or the sizes of the features.
        width: columns at once, the features being in a nameless file in `folder`; None: they are in
            memory.
        tick: called again and again; may raise to stop.
        stored: how many values the rows hold, if they are CSR and that is known: they are then held
            once while they are put together.
    """
    if width is None:
        yield InMemory(raw, parts, norm, stored, progress, tick)
        return
    with TemporaryFile(dir=folder, prefix=".features-") as file:
        yield OnDisk(file.fileno(), raw, parts, norm, width, progress, tick)


def _counted(raw: FeatureRows, progress: Progress, tick: Tick) -> Iterator[Array | CSR]:
    progress.start("read features", raw.shape[0])
    for block in raw:
        tick()
        yield block
        progress.advance(block.shape[0])
    progress.finish()


def _hashed(blocks: Iterator[Array | CSR], digest: FeatureHash) -> Iterator[Array | CSR]:
    for block in blocks:
        digest.update(block)
        yield block


def _joined(
    blocks: Iterator[Array | CSR], shape: tuple[int, int], stored: int | None
) -> Array | CSR:
    """Return row blocks, all dense or all CSR, as one matrix; without `stored` all CSR blocks
    are held beside it.
    """
    first = next(blocks, None)
    if isinstance(first, CSR):
        rest = cast(Iterable[CSR], chain([first], blocks))
        if stored is None:
            rest = list(rest)
            stored = sum(block.nnz for block in rest)
        return _joined_csr(rest, shape, stored, with_data=first.data is not None)
    out = np.empty(shape, np.float32)
    low = 0
    dense = [] if first is None else chain([first], blocks)
    for block in cast(Iterable[Array], dense):
        out[low : low + len(block)] = block
        low += len(block)
    return out


def _joined_csr(
    blocks: Iterable[CSR], shape: tuple[int, int], stored: int, *, with_data: bool
) -> CSR:
    indptr = np.zeros(shape[0] + 1, np.int64)
    indices = np.empty(stored, np.int32)
    data = np.empty(stored, np.float32) if with_data else None
    row = at = 0
    for block in blocks:
        end = at + block.nnz
        if end > stored:
            raise TaamctlError("the features have more values than they had a moment ago", HINT)
        indptr[row + 1 : row + 1 + block.shape[0]] = block.indptr[1:] + at
        indices[at:end] = block.indices
        if data is not None:
            data[at:end] = block.data
        row += block.shape[0]
        at = end
    if at < stored:
        raise TaamctlError("the features have fewer values than they had a moment ago", HINT)
    return CSR(indptr, indices, data, shape)
