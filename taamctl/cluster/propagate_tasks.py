"""Propagation on a cluster: columns of the features are units, whose files `stages/precompute.py`
puts together as it does its own.

No number depends on which columns are propagated together, so the bytes are those of a local run.
"""

from __future__ import annotations

import shutil
import time
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.cluster import probe
from taamctl.cluster.column_unit import Columns, Source, propagate
from taamctl.cluster.unit_result import result_of, total
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.rows import block_rows
from taamctl.core.types import Array
from taamctl.features import profiles
from taamctl.features.all_groups import GroupEntries, Work
from taamctl.features.feature_source import GroupFeatures, opened
from taamctl.features.group_features import Group
from taamctl.features.memory_limit import LEAST
from taamctl.propagation.operator import build
from taamctl.propagation.powers import BLOCK
from taamctl.runtime import provenance, stage_jobs
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.raw_files import resolve
from taamctl.stages import precompute

TICK = 0.1  # seconds between two looks at Ctrl-C


class Joined:
    """[n, F] float32, only read by rows: those of a group, side by side in the files of the
    units.
    """

    def __init__(self, files: list[Array], low: int, high: int) -> None:
        self._files, self._low = files, low
        self.shape = (high - low, sum(f.shape[1] for f in files))

    def rows(self, low: int, high: int) -> Array:
        """Return rows [low, high) of the group."""
        return np.concatenate([f[self._low + low : self._low + high] for f in self._files], axis=1)


def run(client: Any, context: Context, dataset: str) -> Outcome:
    """Propagate the features of one split data set on the workers."""
    sent = _Sent(client, context, dataset)
    outcome: Outcome = precompute.run(context, dataset, begun=sent.begun, ready=sent.ready)
    return outcome


class _Sent:
    """One data set whose columns are propagated on the workers."""

    def __init__(self, client: Any, context: Context, dataset: str) -> None:
        self._client, self._context, self._dataset = client, context, dataset
        self._facts: dict[str, Any] = {"executor": "dask"}

    def ready(self) -> dict[str, Any]:
        """Look at the workers, while Ctrl-C still ends that, and return what the sidecar says;
        `begun` adds to it.
        """
        self._source = _source(self._context, self._dataset)
        needs = [self._source.expected, *self._source.raw]
        self._workers = probe.require_everywhere(self._client, needs)
        probe.tell_of_processors(self._client, self._context)
        return self._facts

    @contextmanager
    def begun(
        self, work: Work, folder: Path, progress: Progress, tick: Callable[[], None]
    ) -> Iterator[tuple[str, Iterator[GroupEntries]]]:
        """Do on the workers what `all_groups.begun` does here, and yield the same."""
        rows, f = int(work.parts.offset[-1]), work.raw.shape[1]
        width = max(LEAST, min(BLOCK, -(-f // max(1, self._workers))))
        cuts = [(low, min(f, low + width)) for low in range(0, f, width)]
        scratch = (
            folder / f".features.h5.{uuid.uuid4().hex}.tmp"
        ).absolute()  # a killed command's is swept under the lock
        scratch.mkdir()
        try:
            made = self._made(work, cuts, scratch, progress, tick)
            self._facts["cost"] = total([columns.cost for columns in made])
            files = [
                _open(columns, (rows, high - low), tick)
                for columns, (low, high) in zip(made, cuts, strict=True)
            ]
            with ExitStack() as stack:
                raw = (
                    None
                    if not work.params.store_x
                    else stack.enter_context(
                        opened(work.raw, work.parts, work.norm, None, folder, progress, tick)
                    )
                )
                _require_one(
                    {columns.sha256 for columns in made} | ({raw.sha256} if raw else set()),
                    self._dataset,
                )
                yield made[0].sha256, _joined(work, files, made, raw, tick)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _made(
        self,
        work: Work,
        cuts: list[tuple[int, int]],
        scratch: Path,
        progress: Progress,
        tick: Callable[[], None],
    ) -> list[Columns]:
        sent = [
            self._client.submit(
                propagate,
                self._source,
                work.params,
                work.norm,
                *cut,
                scratch,
                key=f"propagate-{self._dataset}-{cut[0]}-{uuid.uuid4().hex}",
            )
            for cut in cuts
        ]
        try:
            made = _gathered(sent, self._dataset, self._workers, progress, tick)
            _require_one({columns.sha256 for columns in made}, self._dataset)
        except BaseException:
            self._client.cancel(sent, force=True)
            raise
        return made


def _require_one(hashes: set[str], dataset: str) -> None:
    """Refuse hashes of raw features that are not one and the same."""
    if len(hashes) > 1:
        raise TaamctlError(
            f"workers, or they and this process, see different raw data of {dataset}",
            "the folder of --data-root has to be on a shared disk",
        )


def _source(context: Context, dataset: str) -> Source:
    source = data_set(dataset)
    job = stage_jobs.precompute(context, source)
    split = job.inputs[0][0]
    expected = probe.expect(job, split, provenance.sha256(split), "cpu")
    raw = probe.expect_raw(job, stage_jobs.split(context, source))
    root = resolve(context.data_root).absolute()
    params = context.params.plugin("datasets", dataset, source.meta.params)
    return Source(expected, context.layout.command("split", dataset), raw, dataset, params, root)


def _gathered(
    sent: list[Any], dataset: str, workers: int, progress: Progress, tick: Callable[[], None]
) -> list[Columns]:
    """Wait for all units, with an eye on Ctrl-C, which is held back while an artefact is open."""
    progress.start(f"propagate on {workers} worker{'s' if workers > 1 else ''}", len(sent))
    left = list(sent)
    while left:
        tick()
        done = [future for future in left if future.done()]
        for future in done:
            result_of(future, f"propagation of {dataset}")
            progress.advance()
        left = [future for future in left if future not in done]
        if not done:
            time.sleep(TICK)
    progress.finish()
    return [result_of(future, f"propagation of {dataset}") for future in sent]


def _open(columns: Columns, shape: tuple[int, int], tick: Callable[[], None]) -> Array:
    """Return what a unit wrote, once it is known to have come whole."""
    file, hint = (
        Path(columns.file),
        "the folder of --outputs has to be on a disk that all workers share",
    )
    if not file.is_file() or file.stat().st_size != 4 * shape[0] * shape[1]:
        raise TaamctlError(f"a worker wrote {file}, but it is not here", hint)
    found: Array = (
        np.memmap(file, np.float32, "r", shape=shape)
        if shape[0] * shape[1]
        else np.zeros(shape, np.float32)
    )
    crc, step = 0, block_rows(shape[1])
    for low in range(0, shape[0], step):
        crc = zlib.crc32(found[low : low + step].data, crc)
        tick()
    if crc != columns.crc32:
        raise TaamctlError(
            f"{file} does not match the checksum of the worker that wrote it",
            f"run the same command again; {hint}",
        )
    return found


def _joined(
    work: Work,
    files: list[Array],
    made: list[Columns],
    raw: GroupFeatures | None,
    tick: Callable[[], None],
) -> Iterator[GroupEntries]:
    for g, (low, high) in enumerate(work.parts.bounds):
        operator = build(work.parts.edges(low, high), work.params.self_loops)
        h: Any = Joined(files, low, high)  # nobody asks it for columns
        means, ls = (
            np.concatenate([getattr(columns, name)[g] for columns in made], axis=1)
            for name in ("hop_mean", "ls_mean")
        )
        group = Group(
            operator,
            h if raw is None else raw.group(g)[0],
            h,
            sum(columns.filled[g] for columns in made),
            profiles.spread(operator, work.params.hops),
            means,
            ls,
        )
        yield g, low, high, group.entries(work.params)
        tick()
