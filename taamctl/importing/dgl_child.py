"""A graph that dgl.save_graphs wrote, as the guarded process reads it: DGL goes by whatever lengths
stand in a file.
"""

from __future__ import annotations

from pathlib import Path

from taamctl.core.plain_values import Plain
from taamctl.graph.dgl_adapter import load_graph

DATA = "data/"  # before the key of an array of nodes
TEXT = "text/"  # before the key of a list of names


def parts_of(path: Path) -> dict[str, Plain]:
    """Return N, the ends of the edges, the arrays of the nodes, and the keys of the edges' data.

    Raises:
        TaamctlError: dgl is missing, or what `load_graph` refuses.
    """
    saved = load_graph(path)
    return {
        "num_nodes": saved.num_nodes,
        "edge_keys": list(saved.edge_keys),
        "source": saved.source,
        "target": saved.target,
        **{f"{DATA}{key}": value for key, value in saved.node_data.items()},
        **{f"{TEXT}{key}": value for key, value in saved.texts.items()},
    }
