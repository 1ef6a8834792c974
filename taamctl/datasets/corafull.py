"""CoraFull: scientific papers, citation links, bags of words, 70 fields of computer science."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.raw_values import check_size, default_class_names
from taamctl.graph.shchur_npz import read_npz
from taamctl.runtime.raw_files import locate, places

FILE = "cora.npz"
LAYOUTS = (
    *places(
        ("corafull", "cora/raw", "CoraFull/cora/raw", "CoraFull/raw", "raw"),
        (FILE, "cora_full.npz"),
    ),
    *places(("", "cora_full_*"), ("cora_full.npz",), ("corafull/cora_full.zip", "cora_full.zip")),
)
META = Meta(
    nodes=19_793,
    edges=65_311,
    features=8_710,
    classes=70,
    licence="MIT",
    citation="Bojchevski, Günnemann (2018). Deep Gaussian Embedding of Graphs: Unsupervised "
    "Inductive Learning via Ranking. ICLR.",
    homepage="https://github.com/abojchevski/graph2gauss",
    order="raw file order",
    files=(RawFile(FILE, f"https://github.com/abojchevski/graph2gauss/raw/master/data/{FILE}"),),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return CoraFull with its edges as stored.

    Returns:
        19,793 nodes, 65,311 entries (126,842 after symmetrising); features [N, 8710] CSR float32 as
        stored.

    Raises:
        TaamctlError: no file, another graph, or a file that holds the structure only.
    """
    source = locate(root, "corafull", LAYOUTS, FILE)
    with source.open() as stream:
        graph = read_npz("corafull", stream, str(source), default_class_names(META.classes))
    return check_size(graph, META.nodes, META.features, str(source))
