"""A user's graph as dgl.save_graphs writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.graph.dgl_adapter import MAGIC, load_graph
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import from_arrays, only
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import require_file


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return the edges, and the node data by their keys.

    Raises:
        TaamctlError: no such file, a damaged one, several graphs, or several types of nodes or
            edges.
    """
    path = only(paths, "what dgl.save_graphs writes")
    require_file(path)
    with reading(str(path)), path.open("rb") as stream:
        # dgl's own reader would go by whatever lengths stand in another file
        if stream.read(8) != MAGIC:
            raise TaamctlError(
                f"{path} is not what dgl.save_graphs writes", "--format names another format"
            )
    saved = load_graph(path)
    notes = tuple(f"{path}: edge data not read: {key}" for key in saved.edge_keys)
    return from_arrays(
        {**saved.node_data, **saved.texts},
        options,
        str(path),
        (saved.source, saved.target),
        nodes=saved.num_nodes,
        notes=notes,
        by_row=True,
    )
