"""Debian packages: what needs what, and which section a package belongs to.

Ships with taamctl, no download.
"""

from __future__ import annotations

import hashlib
import io
from importlib import resources
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets._meta import Meta
from taamctl.graph.raw_values import check_size
from taamctl.graph.shchur_npz import read_npz

FILE = "debian_bookworm.npz"
SHA256 = "2611c62c90aa0e221c82c488f15322d76ce59ddf2aa987ed568a8f7bbbc2e4fc"
META = Meta(
    nodes=63_320,
    edges=291_226,
    features=1_024,
    classes=53,
    licence="package facts, words hashed",
    citation="The Debian Project (2023). Debian 12 `bookworm`, package index.",
    homepage="https://www.debian.org/releases/bookworm/",
    order="packages by name, as in the embedded file",
)


def load(root: Path | None, params: None = None) -> NodeGraph:
    """Return the embedded graph: node = binary package, edge u -> v = u needs v, label = section.

    Returns:
        63,320 nodes; features [N, 1024] CSR float32, hashed words of the description, 1 where a
        word is present.
    """
    where = f"the embedded {FILE}"
    data = resources.files("taamctl.datasets").joinpath(FILE).read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise TaamctlError(f"{where} is damaged (its checksum is wrong)", "install taamctl again")
    graph = read_npz("debian", io.BytesIO(data), where)
    return check_size(graph, META.nodes, META.features, where)
