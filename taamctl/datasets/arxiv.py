"""ogbn-arxiv: papers on computer science, directed citations, mean word vectors, 40 areas."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.ogb_adapter import BINARY_FILES, CSV_FILES, read_ogb
from taamctl.graph.raw_values import check_size
from taamctl.runtime.raw_files import as_folder, locate, places

FILE = "arxiv.zip"
LAYOUTS = places(
    ("arxiv/raw", "ogbn_arxiv/raw", "arxiv/arxiv/raw", "arxiv/ogbn_arxiv/raw"),
    (CSV_FILES[0], BINARY_FILES[0]),
    ("arxiv/arxiv.zip", "arxiv.zip", "ogbn_arxiv.zip"),
)
# OGB's label order (mapping/labelidx2arxivcategeory.csv.gz), written out so that every layout has
# the names
AREAS = (
    "NA MM LO CY CR DC HC CE NI CC AI MA GL NE SC AR CV GR ET SY "
    "CG OH PL SE LG SD SI RO IT PF CL IR MS FL DS OS GT DB DL DM"
)
CLASS_NAMES = tuple(f"cs.{area}" for area in AREAS.split())
RAW = ("*.csv.gz", "*.npz")  # what belongs to a found file, in its folder
META = Meta(
    nodes=169_343,
    edges=1_166_243,
    features=128,
    classes=40,
    directed=True,
    licence="ODC-BY",
    citation="Hu, Fey, Zitnik, Dong, Ren, Liu, Catasta, Leskovec (2020). Open Graph Benchmark: "
    "Datasets for Machine Learning on Graphs. NeurIPS.",
    homepage="https://ogb.stanford.edu/docs/nodeprop/#ogbn-arxiv",
    reordered=False,
    order="raw file order",
    files=(RawFile(FILE, f"http://snap.stanford.edu/ogb/data/nodeproppred/{FILE}"),),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return ogbn-arxiv with its edges as published: citing -> cited.

    Returns:
        169,343 nodes, 1,166,243 directed entries; features [N, 128] float32, dense.
    """
    source = locate(root, "arxiv", LAYOUTS, FILE)
    with as_folder(source, (*CSV_FILES, *BINARY_FILES)) as folder:
        graph = read_ogb("arxiv", "ogbn-arxiv", folder, str(source), CLASS_NAMES)
    return check_size(graph, META.nodes, META.features, str(source))
