"""Amazon Photo: goods, bought together, binary bags of words of reviews, categories of goods."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta, RawFile
from taamctl.graph.raw_values import check_size
from taamctl.graph.shchur_npz import read_npz
from taamctl.runtime.raw_files import locate, places

FILE = "amazon_electronics_photo.npz"
LAYOUTS = places(
    ("photo", "", "Photo/raw", "Amazon/Photo/raw", "raw", "amazon_co_buy_photo_*"),
    (FILE, "amazon_co_buy_photo.npz"),
    ("photo/amazon_co_buy_photo.zip", "amazon_co_buy_photo.zip"),
)
# in label order, as the original file names them; other layouts carry the same labels without names
CLASS_NAMES = (
    "Film Photography",
    "Digital Cameras",
    "Binoculars & Scopes",
    "Lenses",
    "Tripods & Monopods",
    "Video Surveillance",
    "Lighting & Studio",
    "Flashes",
)
META = Meta(
    nodes=7_650,
    edges=143_663,
    features=745,
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
    """Return Amazon Photo with its edges as stored, each pair in one or both directions.

    Returns:
        7,650 nodes, 143,663 entries with 1 self-loop (238,163 after symmetrising); features [N,
        745] CSR float32, all values 1.
    """
    source = locate(root, "photo", LAYOUTS, FILE)
    with source.open() as stream:
        graph = read_npz("photo", stream, str(source), CLASS_NAMES)
    return check_size(graph, META.nodes, META.features, str(source))
