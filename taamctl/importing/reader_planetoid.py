"""The files of Planetoid, `ind.NAME.x` and so on, read by a list of what they may construct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.graph import planetoid
from taamctl.importing.folder_format import PLANETOID, unpacked
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import opened

VALIDATION = 500  # nodes after those of `y`, as all who publish on these graphs take them
TRAINING = "y"


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the files say; parts are the published ones, where the file `y` is among them.

    Args:
        paths: the files, or one folder that holds them, or holds a folder called raw that does.

    Raises:
        TaamctlError: a file is missing or damaged, asks for anything but arrays and lists, or
            belongs to another graph.
    """
    files = _files(paths)
    where = str(files["graph"])
    parts = {}
    for name in planetoid.PARTS:
        with opened(files[name]) as stream:
            parts[name] = planetoid.load_pickle(stream, str(files[name]))
    with opened(files[planetoid.INDEX]) as stream:
        index = planetoid.load_index(stream, str(files[planetoid.INDEX]))
    made = planetoid.joined(parts, index, where)
    part, notes = _parts(files, index, made.features.shape)
    return RawGraph(
        where,
        made.source,
        made.target,
        made.features,
        made.labels,
        part=part,
        by_row=True,
        notes=notes,
    )


def _files(paths: Sequence[Path]) -> dict[str, Path]:
    """Return part -> its file."""
    found: dict[str, Path] = {}
    for path in unpacked(paths):
        match = PLANETOID.fullmatch(path.name)
        if match and found.setdefault(match[1], path) != path:
            raise TaamctlError(
                f"{path} and {found[match[1]]} are the same part of two graphs",
                "name the files of one graph",
            )
    lacking = [part for part in (*planetoid.PARTS, planetoid.INDEX) if part not in found]
    if lacking:
        raise TaamctlError(
            f"{paths[0]}: of the files ind.NAME.{{{','.join(planetoid.PARTS)},{planetoid.INDEX}}} "
            f"those of {', '.join(lacking)} are missing",
            "name all of them, or the folder that holds them",
        )
    return found


def _parts(
    files: Mapping[str, Path], index: Array, shape: tuple[int, int]
) -> tuple[Array | None, tuple[str, ...]]:
    """Return the published parts, [N] int8, and what to say of them."""
    if TRAINING not in files:
        return None, (f"no file ind.NAME.{TRAINING}, so no parts of the nodes",)
    path = files[TRAINING]
    with opened(path) as stream:
        trained = len(planetoid.load_pickle(stream, str(path)))
    part = np.full(shape[0], -1, np.int8)
    part[trained : trained + VALIDATION] = 1
    part[:trained] = 0
    part[index] = 2
    train, val, test = (int((part == number).sum()) for number in range(3))
    said = f"the published parts: {train:,} train, {val:,} val and {test:,} test nodes"
    return part, (f"{files['graph']}: {said}",)
