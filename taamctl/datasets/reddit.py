"""Reddit: posts of 2014, joined where a user commented on both, word vectors, communities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.raw_values import (
    check_size,
    clean_labels,
    default_class_names,
    dense_features,
    reading,
)
from taamctl.graph.shchur_npz import read_arrays
from taamctl.runtime.raw_files import Source, locate, places

FILE, EDGES = "reddit_data.npz", "reddit_graph.npz"
LAYOUTS = places(
    ("reddit", "", "Reddit/raw", "reddit/raw", "raw", "reddit_*"),
    (FILE,),
    ("reddit/reddit.zip", "reddit.zip"),
)
RAW = (FILE, EDGES)  # what belongs to a found file, in its folder
META = Meta(
    nodes=232_965,
    edges=114_615_892,
    features=602,
    classes=41,
    licence="not stated",
    citation="Hamilton, Ying, Leskovec (2017). Inductive Representation Learning on Large Graphs. "
    "NIPS.",
    homepage="https://snap.stanford.edu/graphsage/",
    reordered=False,
    order="raw file order",
    files=(RawFile("reddit.zip", "https://data.dgl.ai/dataset/reddit.zip"),),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return Reddit with its edges as stored, which is in both directions and without self-loops.

    Returns:
        232,965 nodes, 114,615,892 entries; features [N, 602] float32, dense.
    """
    source = locate(root, "reddit", LAYOUTS, "reddit.zip")
    with source.open() as stream:
        data = read_arrays(stream, str(source), ("feature", "label"))
    features, notes = dense_features(data.pop("feature"), str(source))
    labels, label_notes = clean_labels(data["label"], str(source))
    tail, head = _edges(source.sibling(EDGES))
    adjacency, edge_notes = adjacency_from_edges(tail, head, len(labels), "reddit")
    notes = (*edge_notes, *notes, *label_notes)
    names = default_class_names(META.classes)
    graph = NodeGraph("reddit", adjacency, features, labels, names, notes)
    return check_size(graph, META.nodes, META.features, str(source))


def _edges(source: Source) -> tuple[Array, Array]:
    """Return row and column ids of a matrix saved by scipy: coordinates or compressed rows."""
    where = str(source)
    with source.open() as stream:
        arrays = read_arrays(stream, where, ("shape",), ("row", "col", "indices", "indptr"))
    if {"row", "col"} <= arrays.keys():
        return arrays["row"], arrays["col"]
    if not {"indices", "indptr"} <= arrays.keys():
        raise TaamctlError(
            f"{where}: neither row and col nor indices and indptr; expected a sparse matrix",
            "the file is not as published, or damaged: remove it and run taamctl data fetch again",
        )
    with reading(where):
        lengths = np.diff(arrays["indptr"])
        return np.repeat(np.arange(len(lengths)), lengths), arrays["indices"]
