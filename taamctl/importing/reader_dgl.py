"""A user's graph as dgl.save_graphs writes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.graph.dgl_adapter import MAGIC, SavedGraph
from taamctl.graph.raw_values import reading
from taamctl.importing import guarded
from taamctl.importing.arrays import from_arrays, only
from taamctl.importing.dgl_child import DATA, TEXT
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
    found = guarded.call("dgl_child:parts_of", path, libraries="torch,dgl")
    data = {key.removeprefix(DATA): found[key] for key in found if key.startswith(DATA)}
    texts = {key.removeprefix(TEXT): found[key] for key in found if key.startswith(TEXT)}
    ends = (found["source"], found["target"])
    saved = SavedGraph(found["num_nodes"], *ends, data, tuple(found["edge_keys"]), texts)
    return of_saved(saved, options, str(path))


def of_saved(saved: SavedGraph, options: ImportOptions, where: str) -> RawGraph:
    """Return what a graph of DGL says: its edges, and the node data by their keys."""
    notes = tuple(f"{where}: edge data not read: {key}" for key in saved.edge_keys)
    return from_arrays(
        {**saved.node_data, **saved.texts},
        options,
        where,
        (saved.source, saved.target),
        nodes=saved.num_nodes,
        notes=notes,
        by_row=True,
    )
