"""Propagation on a cluster: columns of the features are units, whose files `stages/precompute.py` puts together as it does its own.

No number depends on which columns are propagated together, so the bytes are those of a local run.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.types import Array
from taamctl.fanout import probe
from taamctl.fanout.columns import Columns, Source, propagate
from taamctl.fanout.result import result_of
from taamctl.features import groups, profiles
from taamctl.features.group import Group
from taamctl.features.groups import Made, Work
from taamctl.features.operator import build
from taamctl.features.room import LEAST
from taamctl.features.sgc import BLOCK
from taamctl.features.source import GroupFeatures, opened
from taamctl.runtime import provenance
from taamctl.runtime.job import Context, Outcome
from taamctl.stages import precompute

TICK = 0.1  # seconds between two looks at Ctrl-C


class Joined:
    """[n, F] float32: the rows of a group, side by side in the files of the units."""

    def __init__(self, files: list[Array], low: int, high: int) -> None:
        self._files, self._low = files, low
        self.shape, self.width = (high - low, sum(f.shape[1] for f in files)), BLOCK

    def rows(self, low: int, high: int) -> Array:
        """Return rows [low, high) of the group."""
        return np.concatenate([f[self._low + low:self._low + high] for f in self._files], axis=1)

    def columns(self, at: int) -> Array:
        """Return a column block."""
        return np.ascontiguousarray(self.rows(0, self.shape[0])[:, at:at + self.width])

    def write_columns(self, at: int, z: Array) -> None:
        """Refuse: it is only read."""
        raise NotImplementedError


def run(client: Any, context: Context, dataset: str) -> Outcome:
    """Propagate the features of one split data set on the workers; an imported graph, which lies in this folder alone, is left to here."""
    if dataset in registry.imported("taamctl.datasets"):
        context.tell(f"note: {dataset} is a file of this folder, which workers do not see by its name: it is propagated here")
        begun: Any = groups.begun
    else:
        begun = partial(_begun, client, context, dataset)
    outcome: Outcome = precompute.run(context, dataset, begun=begun)
    return outcome


@contextmanager
def _begun(client: Any, context: Context, dataset: str, work: Work, folder: Path, progress: Progress,
           tick: Callable[[], None]) -> Iterator[tuple[str, Iterator[Made]]]:
    """Do on the workers what `groups.begun` does here, and yield the same."""
    source = _source(context, dataset)
    probe.require_everywhere(client, [source.expected])
    probe.tell_of_processors(client, context)
    scratch = (folder / ".features.h5.columns").absolute()  # one name, under the lock of features.h5: a killed command's is removed
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        f = work.raw.shape[1]
        workers = len(client.scheduler_info()["workers"])
        width = max(LEAST, min(BLOCK, -(-f // max(1, workers))))
        cuts = [(low, min(f, low + width), scratch / f"{low}-{uuid.uuid4().hex}") for low in range(0, f, width)]
        sent = [client.submit(propagate, source, work.params, work.norm, *cut, key=f"propagate-{dataset}-{cut[2].name}") for cut in cuts]
        try:
            made = _gathered(sent, dataset, workers, progress, tick)
        except BaseException:
            client.cancel(sent, force=True)
            raise
        if len({columns.sha256 for columns in made}) > 1:
            raise TaamctlError(f"workers see different raw data of {dataset}", "the folder of --data-root has to be on a shared disk")
        rows = int(work.parts.offset[-1])
        files = [_open(file, (rows, high - low)) for low, high, file in cuts]
        with ExitStack() as stack:
            raw = None if not work.params.store_x else stack.enter_context(opened(
                work.raw, work.parts.orig_id, work.parts.offset, work.norm, None if work.limit is None else BLOCK, folder, progress, tick))
            yield made[0].sha256, _joined(work, files, made, raw, tick)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _source(context: Context, dataset: str) -> Source:
    split, module = context.layout.file("split", dataset), registry.load("taamctl.datasets", dataset)
    expected = probe.expect((*precompute.CODE, f"datasets/{dataset}.py"), split, provenance.sha256(split), "cpu")
    root = None if context.data_root is None else context.data_root.absolute()
    params = context.params.plugin("datasets", dataset, module.META.params)
    return Source(expected, context.layout.command("split", dataset), dataset, params, root)


def _gathered(sent: list[Any], dataset: str, workers: int, progress: Progress, tick: Callable[[], None]) -> list[Columns]:
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


def _open(file: Path, shape: tuple[int, int]) -> Array:
    if not file.is_file() or file.stat().st_size != 4 * shape[0] * shape[1]:
        raise TaamctlError(f"a worker wrote {file}, but it is not here", "the folder of --outputs has to be on a shared disk")
    return np.memmap(file, np.float32, "r", shape=shape) if shape[0] * shape[1] else np.zeros(shape, np.float32)


def _joined(work: Work, files: list[Array], made: list[Columns], raw: GroupFeatures | None, tick: Callable[[], None]) -> Iterator[Made]:
    for g, (low, high) in enumerate(pairwise(work.parts.offset.tolist())):
        operator = build(work.parts.edges(low, high), work.params.self_loops)
        h = Joined(files, low, high)
        means, ls = (np.concatenate([getattr(columns, name)[g] for columns in made], axis=1) for name in ("hop_mean", "ls_mean"))
        group = Group(operator, h if raw is None else raw.group(g)[0], h, sum(columns.filled[g] for columns in made),
                      profiles.spread(operator, work.params.hops), means, ls)
        yield g, low, high, group.entries(work.params)
        tick()
