"""Read OGB's raw folders through ogb's own reader: the only module that imports ogb.

Traps that this module steps around: importing ogb starts a thread that looks for updates (so the
module `outdated` is kept from loading), its data set classes ask questions on stdin and download by
themselves (so only the raw reader is used), and its cached pickle cannot be loaded a second time
under torch >= 2.6 (so it is never touched).
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib.util
import io
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.graph.arrays import only
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.options import ImportOptions
from taamctl.graph.own import RawGraph, parts_from_masks
from taamctl.graph.raw import clean_labels, dense_features, reading

CSV_FILES = (
    "edge.csv.gz",
    "node-feat.csv.gz",
    "node-label.csv.gz",
    "num-node-list.csv.gz",
    "num-edge-list.csv.gz",
)
BINARY_FILES = ("data.npz", "node-label.npz")
SPLIT_FILES = {"train": "train.csv.gz", "val": "valid.csv.gz", "test": "test.csv.gz"}


def flags(dataset: str) -> dict[str, str]:
    """Return what ogb's own table says about `dataset` (such as ogbn-arxiv), without importing ogb.

    Raises:
        TaamctlError: ogb is not installed, or its table lacks the data set.
    """
    spec = importlib.util.find_spec("ogb")
    if spec is None or not spec.submodule_search_locations:
        raise TaamctlError(
            f"reading {dataset} needs the package ogb, which is missing",
            "install ogb 1.3.6 or newer",
        )
    table = Path(next(iter(spec.submodule_search_locations))) / "nodeproppred" / "master.csv"
    with reading(str(table)), table.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    if not rows or dataset not in rows[0]:
        raise TaamctlError(f"{table} does not know {dataset}")
    return {row[""]: row[dataset] for row in rows}


def read_ogb(
    name: str, dataset: str, folder: Path, where: str, class_names: tuple[str, ...]
) -> NodeGraph:
    """Return the graph of an OGB raw folder, csv or binary, nodes in file order.

    Args:
        name: our data set name.
        dataset: OGB's name; its `add_inverse_edge` flag decides whether every edge also counts
            backwards.
        folder: the folder called `raw`.
        where: what to call it in messages.
        class_names: C names.

    Raises:
        TaamctlError: a missing or broken file, named; counts that contradict each other.
    """
    raw, labels = _read_folder(folder, where)
    source, target = raw["edge_index"]
    if flags(dataset)["add_inverse_edge"] == "True":
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    adjacency, notes = adjacency_from_edges(source, target, int(raw["num_nodes"]), name)
    features, feature_notes = dense_features(raw["node_feat"], where)
    y, label_notes = clean_labels(labels, where)
    return NodeGraph(
        name, adjacency, features, y, class_names, (*notes, *feature_notes, *label_notes)
    )


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
    if (
        not any((folder / files[0]).is_file() for files in (CSV_FILES, BINARY_FILES))
        and (folder / "raw").is_dir()
    ):
        folder = folder / "raw"
    where = str(folder)
    raw, labels = _read_folder(folder, where)
    source, target = raw["edge_index"]
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
    part, said = _parts(folder, options.part, n)
    notes = (*notes, *((f"{where}: time from node_year",) if time is not None else ()), *said)
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
    )


def _parts(folder: Path, wanted: str, n: int) -> tuple[Array | None, tuple[str, ...]]:
    """Return [N] parts as a split beside a folder called raw gives them, and which split that
    is; None where there is none.
    """
    folder = folder.resolve()
    beside = folder.parent / "split"
    splits = {
        p.name: p
        for p in sorted(beside.glob("*"))
        if any((p / f).is_file() for f in SPLIT_FILES.values())
    }
    if folder.name != "raw":
        splits = {}  # its neighbours may be about anything
    if wanted and wanted not in splits:
        raise TaamctlError(
            f"{folder}: --part {wanted}: there is no such split; there are: "
            f"{', '.join(splits) or 'none'}",
            f"a split is a folder in {beside} that holds {', '.join(SPLIT_FILES.values())}",
        )
    if not splits:
        return None, ()
    if len(splits) > 1 and not wanted:
        raise TaamctlError(
            f"{beside} holds the splits {', '.join(splits)}, expected one",
            "name the one that is meant with --part",
        )
    chosen = splits[wanted or next(iter(splits))]
    _require(chosen, str(chosen), tuple(SPLIT_FILES.values()))
    masks = {}
    for word, name in SPLIT_FILES.items():
        rows = _rows(chosen / name, n)
        masks[word] = np.zeros(n, bool)
        masks[word][rows] = True
    return parts_from_masks(masks, n, str(chosen)), (f"parts from split/{chosen.name}",)


def _rows(path: Path, n: int) -> Array:
    """Return the node numbers that a file of a split lists, [n] int64."""
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
    import pandas as pd

    with reading(f"{where}/node_year"):
        if (folder / "node_year.csv.gz").is_file():
            return np.asarray(
                pd.read_csv(folder / "node_year.csv.gz", header=None).to_numpy()[:, 0], np.float64
            )
        if (folder / BINARY_FILES[0]).is_file():
            with np.load(folder / BINARY_FILES[0], allow_pickle=False) as archive:
                return (
                    np.asarray(archive["node_year"], np.float64).ravel()
                    if "node_year" in archive.files
                    else None
                )
    return None


def _read_folder(folder: Path, where: str) -> tuple[dict[str, Any], Array]:
    binary = (folder / BINARY_FILES[0]).is_file()
    _require(folder, where, BINARY_FILES if binary else CSV_FILES)
    try:
        with reading(where):
            raw, labels = _read_binary(folder) if binary else _read_csv(folder)
    except TaamctlError as error:
        broken = _first_broken(folder)
        if broken:
            raise TaamctlError(f"{where}: {broken} is truncated or damaged", error.hint) from error
        raise
    if raw["node_feat"] is None:
        raise TaamctlError(f"{where} holds no node features")
    return raw, labels


def _require(folder: Path, where: str, names: tuple[str, ...]) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise TaamctlError(
                f"{where}: {name} is missing",
                "the folder is incomplete; delete it and get it again",
            )


def _read_csv(folder: Path) -> tuple[dict[str, Any], Array]:
    import pandas as pd

    raw = _raw_reader().read_csv_graph_raw
    with _silent():
        graph = _only(raw(str(folder)))
    stated = int(pd.read_csv(folder / CSV_FILES[4], header=None).to_numpy().sum())
    if graph["edge_index"].shape[1] != stated:
        raise ValueError(f"{stated} edges are announced, {graph['edge_index'].shape[1]} are there")
    labels = pd.read_csv(folder / CSV_FILES[2], header=None, skip_blank_lines=False).to_numpy()
    return graph, labels


def _read_binary(folder: Path) -> tuple[dict[str, Any], Array]:
    raw = _raw_reader().read_binary_graph_raw
    with _silent():
        graph = _only(raw(str(folder)))
    with np.load(folder / BINARY_FILES[1], allow_pickle=False) as archive:
        return graph, archive["node_label"]


def _only(graphs: list[dict[str, Any]]) -> dict[str, Any]:
    if len(graphs) != 1:
        raise ValueError(f"{len(graphs)} graphs, expected one")
    return graphs[0]


def _raw_reader() -> Any:
    with _without_update_check():
        from ogb.io import read_graph_raw
    return read_graph_raw


@contextlib.contextmanager
def _without_update_check() -> Iterator[None]:
    """Keep `outdated` from being imported, and put the module table back as it was."""
    modules: dict[str, Any] = sys.modules
    absent = object()
    before = modules.get("outdated", absent)
    modules["outdated"] = None
    try:
        yield
    finally:
        if before is absent:
            del modules["outdated"]
        else:
            modules["outdated"] = before


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Swallow what ogb prints: stdout is for data, and its progress bars say nothing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _first_broken(folder: Path) -> str:
    """Name the first compressed file that does not decompress to its end; empty where all do."""
    for path in sorted([*folder.glob("*.npz"), *folder.glob("*.csv.gz")]):
        try:
            if path.suffix == ".npz":
                with zipfile.ZipFile(path) as archive:
                    whole = archive.testzip() is None
            else:
                whole = _decompresses(path)
        except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error):
            whole = False
        if not whole:
            return path.name
    return ""


def _decompresses(path: Path) -> bool:
    with gzip.open(path) as stream:
        while stream.read(1 << 20):
            pass
    return path.stat().st_size > 0
