"""Citeseer: papers, citation links, binary bags of words, six fields of computer science."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.planetoid import INDEX, PARTS, assemble, load_index, load_pickle
from taamctl.graph.raw_values import check_size, default_class_names
from taamctl.graph.shchur_npz import read_npz
from taamctl.runtime.raw_files import Source, locate, places

_PREFIX = "ind.citeseer"
_BASE = "https://github.com/kimiyoung/planetoid/raw/master/data"
_FIRST = f"{_PREFIX}.allx"
LAYOUTS = (
    *places(
        (
            *("citeseer", "", "CiteSeer/raw", "Citeseer/raw", "citeseer/raw"),
            *("Planetoid/CiteSeer/raw", "raw", "citeseer_*", "planetoid", "planetoid/data"),
        ),
        (_FIRST,),
        ("citeseer/citeseer.zip", "citeseer.zip", "planetoid/citeseer.zip"),
    ),
    *places(("citeseer", ""), ("citeseer.npz",)),
)
RAW = ("ind.citeseer.*",)  # what belongs to a found file, in its folder
META = Meta(
    nodes=3_327,
    edges=9_228,
    features=3_703,
    classes=6,
    licence="MIT",
    citation="Sen, Namata, Bilgic, Getoor, Gallagher, Eliassi-Rad (2008). Collective "
    "Classification in Network Data. AI Magazine 29(3). Files: Yang, Cohen, "
    "Salakhutdinov (2016). Revisiting Semi-Supervised Learning with Graph Embeddings. "
    "ICML.",
    homepage="https://github.com/kimiyoung/planetoid",
    reordered=False,
    order="the rows of allx, then the test nodes by the ids in test.index, as all Planetoid "
    "readers do",
    feature_norm="row",
    unlabelled_as=0,
    files=tuple(
        RawFile(f"{_PREFIX}.{part}", f"{_BASE}/{_PREFIX}.{part}") for part in (*PARTS, INDEX)
    ),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return Citeseer with raw (not row-normalised) features; 15 nodes have neither features nor a
    label.

    Returns:
        3,327 nodes, 9,228 directed entries with 124 self-loops; features [N, 3703] CSR float32, all
        values 1.
    """
    source = locate(root, "citeseer", LAYOUTS, f"{_PREFIX}.*")
    if (source.member or source.path.name).endswith(".npz"):
        with source.open() as stream:
            graph = read_npz("citeseer", stream, str(source), default_class_names(META.classes))
    else:
        graph = _planetoid(source)
    return check_size(graph, META.nodes, META.features, str(source))


def _planetoid(first: Source) -> NodeGraph:
    parts = {}
    for part in (*PARTS, INDEX):
        source = first.sibling(f"{_PREFIX}.{part}")
        load_part = load_index if part == INDEX else load_pickle
        with source.open() as stream:
            parts[part] = load_part(stream, str(source))
    index = parts.pop(INDEX)
    return assemble("citeseer", parts, index, str(first))
