"""One unit of propagation: some columns of the features of all groups.

It reads the split and the raw features, and writes a file.
"""

from __future__ import annotations

import os
import platform
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from taamctl.cluster import probe
from taamctl.core import registry, subnormals
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.core.rows import FeatureRows
from taamctl.core.types import CSR, Array
from taamctl.features import group_features
from taamctl.features.feature_source import places, rows_of
from taamctl.features.raw_features import Norm, normalise
from taamctl.features.split_parts import Parts
from taamctl.graph.canonical import FeatureHash, to_scipy
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.column_blocks import ArrayBlocks
from taamctl.propagation.powers import BLOCK
from taamctl.runtime import provenance
from taamctl.store.artefacts import Artefact
from taamctl.store.split_kind import SPLIT


class Source(NamedTuple):
    """What a unit reads.

    Attributes:
        expected: split.h5, and what a worker must have in common with the process that sends the
            unit. made_by: what makes that file. raw: the raw files, likewise.
        dataset: the data set's name. params: its section. root: folder of the raw data.
    """

    expected: probe.Expected
    made_by: str
    raw: tuple[probe.Expected, ...]
    dataset: str
    params: Any
    root: Path | None


class Columns(NamedTuple):
    """What a unit returns.

    Attributes:
        file: its file of [N, B] float32. crc32: of that file's bytes, as they were written.
        sha256: of all raw features, as read here.
        hop_mean: [J, B] of every group. ls_mean: [2, B] of every group. filled: raw values of every
            group that are not 0.
        cost: seconds and peak memory (MiB) where it was done.
    """

    file: str
    crc32: int
    sha256: str
    hop_mean: list[Array]
    ls_mean: list[Array]
    filled: list[int]
    cost: dict[str, float]


def propagate(
    source: Source, params: PrecomputeParams, norm: Norm, low: int, high: int, folder: Path
) -> Columns:
    """Propagate columns [low, high) of all groups into a file in `folder`; its name is new, as a
    unit may be done twice at once.

    Args:
        norm: `none`, `row`, or the sizes of the features.
        folder: is there for as long as the file is wanted.
    """
    clock = provenance.Clock()
    file = folder / f"{low}-{uuid.uuid4().hex}"
    crc = 0
    hop_mean = []
    ls_mean = []
    filled = []
    with (
        subnormals.flushed(),
        registry.working_in(Path(source.expected.folder)),
        Artefact(Path(source.expected.file), SPLIT, source.made_by) as split,
        _wanted(file) as out,
    ):
        for expected in (source.expected, *source.raw):
            probe.require_here(expected)
        parts = Parts.read(split, source.made_by)
        raw = rows_of(data_set(source.dataset), source.root, source.params)
        sha256, x = _read(raw, parts.orig_id, norm, low, high)
        for g, (first, last) in enumerate(parts.bounds):
            rows = ArrayBlocks(x[first:last], BLOCK)
            # a block is read before it is written
            done = group_features.compute(rows, rows, parts.edges(first, last), g, params)
            crc = zlib.crc32(x[first:last].data, crc)
            out.write(x[first:last].data)
            hop_mean.append(done.hop_mean)
            ls_mean.append(done.ls_mean)
            filled.append(done.filled)
    return Columns(str(file), crc, sha256, hop_mean, ls_mean, filled, clock.read())


@contextmanager
def _wanted(file: Path) -> Iterator[BinaryIO]:
    """Open a new file in a folder that is there, and make none: it is removed when nobody waits
    any more. On any failure remove it.
    """
    try:
        out = file.open("xb")
    except FileNotFoundError:
        raise TaamctlError(
            f"no folder {file.parent} on {platform.node()}",
            "the command that sent this work has ended; or the folder "
            "of --outputs is not on a disk that all workers share",
        ) from None
    except OSError as error:
        raise explain_os_error(error, file) from None
    whole = False
    try:
        with out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        whole = True
    except OSError as error:
        raise explain_os_error(error, file) from None
    finally:
        if not whole:
            file.unlink(missing_ok=True)


def _read(raw: FeatureRows, orig_id: Array, norm: Norm, low: int, high: int) -> tuple[str, Array]:
    """Return the hash of all raw features, and columns [low, high) of the normalised ones of
    every grouped row, [N, B] float32.
    """
    place = places(raw.shape[0], orig_id)
    out = np.empty((len(orig_id), high - low), np.float32)
    digest = FeatureHash()
    seen = 0
    for block in raw:
        digest.update(block)
        at = place[seen : seen + block.shape[0]]
        scaled = normalise(block, norm)
        if isinstance(scaled, CSR):
            some = to_scipy(scaled)[:, low:high].toarray()
        else:
            some = scaled[:, low:high]
        out[at[at >= 0]] = some[at >= 0]
        seen += block.shape[0]
    return digest.hexdigest(), out
