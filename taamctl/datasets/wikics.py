"""WikiCS: articles on computer science, hyperlinks, mean word vectors, ten branches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.canonical import adjacency_from_edges, symmetrise
from taamctl.graph.raw_values import (
    check_size,
    clean_labels,
    default_class_names,
    dense_features,
    reading,
)
from taamctl.runtime.raw_files import locate, places

FILE = "data.json"
LAYOUTS = places(
    (
        *("wikics", "WikiCS/raw", "wikics/raw", "raw"),
        *("wiki_cs_*", "wiki_cs", "wiki-cs-dataset/dataset", ""),
    ),
    (FILE,),
    ("wikics/wiki_cs.zip", "wiki_cs.zip"),
)
META = Meta(
    nodes=11_701,
    edges=431_726,
    features=300,
    classes=10,
    licence="MIT",
    citation="Mernyei, Cangea (2020). Wiki-CS: A Wikipedia-Based Benchmark for Graph Neural "
    "Networks.",
    homepage="https://github.com/pmernyei/wiki-cs-dataset",
    order="raw file order",
    files=(
        RawFile(FILE, f"https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/{FILE}"),
    ),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return WikiCS with every link in both directions, which is how its edges are published and
    counted.

    Returns:
        11,701 nodes, 431,726 entries with some self-loops; features [N, 300] float32, dense.
    """
    source = locate(root, "wikics", LAYOUTS, FILE)
    with source.open() as stream, reading(str(source)):
        data = json.load(stream)
    return check_size(_graph(data, str(source)), META.nodes, META.features, str(source))


def _graph(data: object, where: str) -> NodeGraph:
    if not isinstance(data, dict):
        data = {}
    missing = [key for key in ("features", "labels", "links") if key not in data]
    if missing:
        raise TaamctlError(
            f"{where}: no key {missing[0]!r}, expected features, labels and links",
            "the file is not as published, or damaged: remove it and run taamctl data fetch again",
        )
    with reading(where):
        features, notes = dense_features(np.array(data["features"], np.float64), where)
        labels, label_notes = clean_labels(np.array(data["labels"]), where)
        source = np.repeat(np.arange(len(data["links"])), [len(row) for row in data["links"]])
        target = np.array([v for row in data["links"] for v in row], np.int64)
    adjacency, edge_notes = adjacency_from_edges(source, target, len(labels), "wikics")
    notes = (*edge_notes, *notes, *label_notes)
    names = default_class_names(META.classes)
    return NodeGraph("wikics", symmetrise(adjacency), features, labels, names, notes)
