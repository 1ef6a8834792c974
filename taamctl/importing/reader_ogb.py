"""A user's graph as OGB writes it: a folder called raw, and perhaps a split beside it."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.graph import gzip_check
from taamctl.graph.ogb_adapter import BINARY_FILES, CSV_FILES, read_folder, require_files
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import only
from taamctl.importing.given_stream import parts_from_masks
from taamctl.importing.messages import quoted, shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.ways import Unclear

SPLIT_FILES = {"train": "train.csv.gz", "val": "valid.csv.gz", "test": "test.csv.gz"}


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a folder called raw says, or the folder that holds it; nothing is asked of ogb's
    own table of data sets.

    Times are the nodes' years, where it has them; parts are those of the folder `split` beside it,
    edges as they are stored.

    Args:
        paths: one folder.
        options: `part` names one of several splits, `add_inverse` counts every edge backwards too.

    Raises:
        TaamctlError: as `read_ogb`; several splits and none of them named, or a split that does not
            fit the nodes.
    """
    folder = only(paths, "what OGB writes")
    if not folder.is_dir():
        raise TaamctlError(f"{folder} is no folder", "name the folder called raw that OGB writes")
    holds_data = any((folder / files[0]).is_file() for files in (CSV_FILES, BINARY_FILES))
    if not holds_data and (folder / "raw").is_dir():
        folder = folder / "raw"
    where = str(folder)
    _require_ogb(folder)
    raw, labels = read_folder(folder, where)
    source, target = _ends(raw["edge_index"], where)
    notes: tuple[str, ...] = ()
    if options.add_inverse:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
        notes = (f"{where}: every edge counts backwards too",)
    if raw.get("edge_feat") is not None:
        notes = (*notes, f"{where}: features of the edges not read")
    n = int(raw["num_nodes"])
    if len(raw["node_feat"]) != n:
        raise TaamctlError(
            f"{where}: {len(raw['node_feat']):,} feature rows for {n:,} nodes",
            "every node needs one row",
        )
    time = _years(folder, where)
    if time is not None:
        notes = (*notes, f"{where}: time from node_year")
    split = _split_of(folder, options.part)
    part = None
    if split is not None:
        part = _parts(split, n)
        notes = (*notes, f"parts from split/{split.name}")
    return RawGraph(
        where,
        source,
        target,
        raw["node_feat"],
        labels,
        part=part,
        time=time,
        notes=notes,
        by_row=True,
        taken=replace(options, part="" if split is None else split.name, ends="rows"),
    )


def _ends(edges: Array, where: str) -> tuple[Array, Array]:
    """Return both ends of the edges; of another shape they are no edges."""
    if edges.ndim != 2 or len(edges) != 2:
        raise TaamctlError(
            f"{where}: edges of shape {edges.shape}, not [2, edges]",
            "the file of the edges is damaged; write the folder again",
        )
    return edges[0], edges[1]


def _require_ogb(folder: Path) -> None:
    """Refuse a folder in which nothing is OGB's."""
    if not any((folder / name).exists() for name in (*CSV_FILES, *BINARY_FILES)):
        there = shown(", ".join(sorted(path.name for path in folder.iterdir())[:6]))
        raise TaamctlError(
            f"{folder} holds no graph in a format of folders; it holds {there or 'nothing'}",
            "name the files of the graph; folders are those of OGB (raw), of Planetoid, of MUSAE, "
            "or hold the tables nodes.parquet and edges.parquet",
        )


def _split_of(folder: Path, wanted: str) -> Path | None:
    """Return the folder of the split that lies beside a folder called raw, or None.

    Raises:
        TaamctlError: several and none of them named, or no such split.
    """
    folder = folder.resolve()
    beside = folder.parent / "split"
    splits: dict[str, Path] = {}
    if folder.name == "raw":  # else its neighbours may be about anything
        for path in sorted(beside.glob("*")):
            if any((path / file).is_file() for file in SPLIT_FILES.values()):
                splits[path.name] = path
    if wanted and wanted not in splits:
        raise TaamctlError(
            f"{folder}: --part {wanted}: there is no such split; there are: "
            f"{', '.join(splits) or 'none'}",
            f"a split is a folder in {beside} that holds {', '.join(SPLIT_FILES.values())}",
        )
    if len(splits) > 1 and not wanted:
        raise Unclear(
            f"{beside} holds the splits {', '.join(splits)}, expected one",
            "name the one that is meant with --part",
            list(map("--part {}".format, map(quoted, splits))),
        )
    return splits[wanted or next(iter(splits))] if splits else None


def _parts(split: Path, n: int) -> Array | None:
    """Return [N] parts as a split gives them."""
    require_files(split, str(split), tuple(SPLIT_FILES.values()))
    masks = {}
    for word, name in SPLIT_FILES.items():
        masks[word] = np.zeros(n, bool)
        masks[word][_rows(split / name, n)] = True
    return parts_from_masks(masks, n, str(split))


def _rows(path: Path, n: int) -> Array:
    """Return the node numbers that a file of a split lists, [n] int64."""
    with reading(str(path)):
        gzip_check.require_room_unpacked(path)
    with reading(str(path)), gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = np.array([int(line) for line in stream.read().split()], np.int64)
    outside = np.flatnonzero((rows < 0) | (rows >= n))
    if len(outside):
        raise TaamctlError(
            f"{path}: row {outside[0]} names the node {rows[outside[0]]}, but {n:,} nodes are "
            f"numbered 0 to {n - 1}",
            "the split belongs to another graph; take it away or get it again",
        )
    return rows


def _years(folder: Path, where: str) -> Array | None:
    """Return [N] float64 years of the nodes, or None where there are none."""
    import pandas as pd

    table = folder / "node_year.csv.gz"
    with reading(f"{where}/node_year"):
        if table.is_file():
            return np.asarray(pd.read_csv(table, header=None).to_numpy()[:, 0], np.float64)
        if (folder / BINARY_FILES[0]).is_file():
            with np.load(folder / BINARY_FILES[0], allow_pickle=False) as archive:
                if "node_year" in archive.files:
                    return np.asarray(archive["node_year"], np.float64).ravel()
    return None
