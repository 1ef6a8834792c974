"""Amazon Computers: goods, bought together, bags of words of reviews, categories of goods."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.raw_values import check_size
from taamctl.graph.shchur_npz import read_npz
from taamctl.runtime.raw_files import locate, places

FILE = "amazon_electronics_computers.npz"
LAYOUTS = places(
    ("computer", "", "Computers/raw", "Amazon/Computers/raw", "raw", "amazon_co_buy_computer_*"),
    (FILE, "amazon_co_buy_computer.npz"),
    ("computer/amazon_co_buy_computer.zip", "amazon_co_buy_computer.zip"),
)
# in label order, as the original file names them; other layouts carry the same labels without names
CLASS_NAMES = (
    "Desktops",
    "Data Storage",
    "Laptops",
    "Monitors",
    "Computer Components",
    "Video Projectors",
    "Routers",
    "Tablets",
    "Networking Products",
    "Webcams",
)
META = Meta(
    nodes=13_752,
    edges=287_209,
    features=767,
    classes=len(CLASS_NAMES),
    licence="MIT",
    citation="Shchur, Mumme, Bojchevski, Günnemann (2018). Pitfalls of Graph Neural Network "
    "Evaluation. Goods: McAuley, Targett, Shi, van den Hengel (2015). Image-Based "
    "Recommendations on Styles and Substitutes. SIGIR.",
    homepage="https://github.com/shchur/gnn-benchmark",
    order="raw file order",
    files=(RawFile(FILE, f"https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{FILE}"),),
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return Amazon Computers with its edges as stored, each pair in one or both directions.

    Returns:
        13,752 nodes, 287,209 entries (491,722 after symmetrising); features [N, 767] CSR float32,
        all values 1.
    """
    source = locate(root, "computer", LAYOUTS, FILE)
    with source.open() as stream:
        graph = read_npz("computer", stream, str(source), CLASS_NAMES)
    return check_size(graph, META.nodes, META.features, str(source))
