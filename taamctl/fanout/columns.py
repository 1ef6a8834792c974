"""One unit of propagation: some columns of the features of all groups. It reads the split and the raw features, and writes a file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from taamctl.core import registry
from taamctl.core.rows import FeatureRows
from taamctl.core.types import CSR, Array
from taamctl.fanout import probe
from taamctl.features import group, groups, sgc
from taamctl.features.params import PrecomputeParams
from taamctl.features.source import rows_of
from taamctl.graph.canonical import FeatureHash, to_scipy
from taamctl.runtime.artefacts import Artefact, atomic


class Source(NamedTuple):
    """What a unit reads.

    Attributes:
        expected: split.h5, and what a worker must have in common with the process that sends the unit. made_by: what makes that file.
        dataset: the data set's name. params: its section. root: folder of the raw data.
    """

    expected: probe.Expected
    made_by: str
    dataset: str
    params: Any
    root: Path | None


class Columns(NamedTuple):
    """What a unit returns beside its file of [N, B] float32.

    Attributes:
        sha256: of all raw features, as read here.
        hop_mean: [J, B] of every group. ls_mean: [2, B] of every group. filled: raw values of every group that are not 0.
    """

    sha256: str
    hop_mean: list[Array]
    ls_mean: list[Array]
    filled: list[int]


def propagate(source: Source, params: PrecomputeParams, norm: str, low: int, high: int, file: Path) -> Columns:
    """Propagate columns [low, high) of all groups into `file`, which is there whole or not at all.

    Args:
        norm: `none` or `row`.
    """
    made = Columns("", [], [], [])
    with Artefact(Path(source.expected.file), "split", source.made_by) as split, atomic(file) as temporary:
        probe.require_here(source.expected)
        parts = groups.Parts(split.read("nodes/orig_id"), split.read("stream/offset"), split.read("edges/indptr"),
                             lambda a, b: split.rows("edges/indices", a, b))
        raw = rows_of(registry.load("taamctl.datasets", source.dataset), source.root, source.params)
        sha256, x = _read(raw, parts.orig_id, norm, low, high)
        with temporary.open("wb") as out:
            for g, (first, last) in enumerate(pairwise(parts.offset.tolist())):
                rows = group.InMemory(x[first:last], sgc.BLOCK)
                done = group.compute(rows, rows, parts.edges(first, last), g, params)  # a block is read before it is written
                out.write(np.ascontiguousarray(x[first:last]).data)
                made.hop_mean.append(done.hop_mean)
                made.ls_mean.append(done.ls_mean)
                made.filled.append(done.filled)
    return made._replace(sha256=sha256)


def _read(raw: FeatureRows, orig_id: Array, norm: str, low: int, high: int) -> tuple[str, Array]:
    """Return the hash of all raw features, and columns [low, high) of the normalised ones of every grouped row, [N, B] float32."""
    place = np.full(raw.shape[0], -1, np.int64)
    place[orig_id] = np.arange(len(orig_id))
    out, digest, seen = np.empty((len(orig_id), high - low), np.float32), FeatureHash(), 0
    for block in raw:
        digest.update(block)
        at = place[seen:seen + block.shape[0]]
        scaled = sgc.normalise(block, norm)
        some = to_scipy(scaled)[:, low:high].toarray() if isinstance(scaled, CSR) else scaled[:, low:high]
        out[at[at >= 0]] = some[at >= 0]
        seen += block.shape[0]
    return digest.hexdigest(), out
