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
import importlib
import importlib.util
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.graph import gzip_check
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.npz_check import require_sound
from taamctl.graph.raw_values import clean_labels, dense_features, reading

CSV_FILES = (
    "edge.csv.gz",
    "node-feat.csv.gz",
    "node-label.csv.gz",
    "num-node-list.csv.gz",
    "num-edge-list.csv.gz",
)
BINARY_FILES = ("data.npz", "node-label.npz")
RawArrays = dict[str, Any]  # keys of ogb: edge_index [2, E], node_feat [N, F], num_nodes, ...


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
        raise TaamctlError(
            f"{table} does not know {dataset}",
            "install another version of ogb: pip install --upgrade ogb",
        )
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
    raw, labels = read_folder(folder, where)
    source, target = raw["edge_index"]
    if flags(dataset)["add_inverse_edge"] == "True":
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    adjacency, notes = adjacency_from_edges(source, target, int(raw["num_nodes"]), name)
    features, feature_notes = dense_features(raw["node_feat"], where)
    y, label_notes = clean_labels(labels, where)
    return NodeGraph(
        name, adjacency, features, y, class_names, (*notes, *feature_notes, *label_notes)
    )


def read_folder(folder: Path, where: str) -> tuple[RawArrays, Array]:
    """Return what ogb's reader says of a folder called raw, and the labels.

    Raises:
        TaamctlError: a missing or broken file, named; no node features.
    """
    binary = (folder / BINARY_FILES[0]).is_file()
    require_files(folder, where, BINARY_FILES if binary else CSV_FILES)
    try:
        with reading(where):
            raw, labels = _read_binary(folder) if binary else _read_csv(folder)
    except TaamctlError as error:
        broken = _first_broken(folder)
        if broken:
            raise TaamctlError(f"{where}: {broken} is truncated or damaged", error.hint) from error
        raise
    if raw["node_feat"] is None:
        raise TaamctlError(
            f"{where} holds no node features", "choose a data set of ogb that has node features"
        )
    return raw, labels


def require_files(folder: Path, where: str, names: tuple[str, ...]) -> None:
    """Refuse a folder that lacks one of the named files."""
    for name in names:
        if not (folder / name).is_file():
            raise TaamctlError(
                f"{where}: {name} is missing",
                "the folder is incomplete; delete it and get it again",
            )


def _read_csv(folder: Path) -> tuple[RawArrays, Array]:
    import pandas as pd

    for path in folder.glob("*.csv.gz"):
        gzip_check.require_room_unpacked(path)
    raw = _raw_reader().read_csv_graph_raw
    with _silent():
        graph = _only(raw(str(folder)))
    stated = int(pd.read_csv(folder / CSV_FILES[4], header=None).to_numpy().sum())
    if graph["edge_index"].shape[1] != stated:
        raise ValueError(f"{stated} edges are announced, {graph['edge_index'].shape[1]} are there")
    labels = pd.read_csv(folder / CSV_FILES[2], header=None, skip_blank_lines=False).to_numpy()
    return graph, labels


def _read_binary(folder: Path) -> tuple[RawArrays, Array]:
    for name in BINARY_FILES:
        with (folder / name).open("rb") as stream:
            require_sound(stream, str(folder / name))
    raw = _raw_reader().read_binary_graph_raw
    with _silent():
        graph = _only(raw(str(folder)))
    with np.load(folder / BINARY_FILES[1], allow_pickle=False) as archive:
        return graph, archive["node_label"]


def _only(graphs: list[RawArrays]) -> RawArrays:
    if len(graphs) != 1:
        raise ValueError(f"{len(graphs)} graphs, expected one")
    return graphs[0]


def _raw_reader() -> ModuleType:
    with _without_update_check():
        return importlib.import_module("ogb.io.read_graph_raw")


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
        except Exception:  # what a damaged archive makes of Python's readers, no list holds
            whole = False
        if not whole:
            return path.name
    return ""


def _decompresses(path: Path) -> bool:
    with gzip.open(path) as stream:
        while stream.read(1 << 20):
            pass
    return path.stat().st_size > 0
