"""ogbn-products: goods of Amazon, bought together, projected bags of words, 47 categories."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.ogb_adapter import BINARY_FILES, CSV_FILES, read_ogb
from taamctl.graph.raw_values import check_size, default_class_names
from taamctl.runtime.raw_files import as_folder, locate, places

FILE = "products.zip"
LAYOUTS = places(
    ("products/raw", "ogbn_products/raw", "products/products/raw", "products/ogbn_products/raw"),
    (CSV_FILES[0], BINARY_FILES[0]),
    ("products/products.zip", "products.zip", "ogbn_products.zip"),
)
RAW = ("*.csv.gz", "*.npz")  # what belongs to a found file, in its folder
META = Meta(
    # 61,859,140 published pairs, each in both directions; a pair of a node with itself gives one
    # entry, not two
    nodes=2_449_029,
    edges=123_718_280,
    features=100,
    classes=47,
    licence="Amazon licence",
    citation="Hu, Fey, Zitnik, Dong, Ren, Liu, Catasta, Leskovec (2020). Open Graph Benchmark: "
    "Datasets for Machine Learning on Graphs. NeurIPS.",
    homepage="https://ogb.stanford.edu/docs/nodeprop/#ogbn-products",
    reordered=False,
    order="raw file order",
    files=(RawFile(FILE, f"http://snap.stanford.edu/ogb/data/nodeproppred/{FILE}"),),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return ogbn-products with every published pair in both directions.

    Returns:
        2,449,029 nodes, up to 123,718,280 entries; features [N, 100] float32, dense.
    """
    source = locate(root, "products", LAYOUTS, FILE)
    with as_folder(source, (*CSV_FILES, *BINARY_FILES)) as folder:
        graph = read_ogb(
            "products", "ogbn-products", folder, str(source), default_class_names(META.classes)
        )
    return check_size(graph, META.nodes, META.features, str(source))
