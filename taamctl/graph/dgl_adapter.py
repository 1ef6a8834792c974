"""The only module that imports dgl: a propagation kernel, and the files that dgl.save_graphs
writes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array
from taamctl.graph.arrays import from_arrays, only
from taamctl.graph.options import ImportOptions
from taamctl.graph.own import RawGraph
from taamctl.graph.raw import reading
from taamctl.graph.tables import require_file

MAGIC = (0xDD2E4FF046B4A13F).to_bytes(8, "little")  # first bytes of what dgl.save_graphs writes


def _dgl() -> Any:
    os.environ.setdefault(
        "DGLBACKEND", "pytorch"
    )  # else the first import writes a config file into the user's home
    try:
        import dgl
    except ImportError as error:
        raise TaamctlError(
            f"dgl cannot be imported ({error})",
            "pip install 'dgl>=1.1.3,<2' packaging (Python 3.11), or set precompute.backend to "
            "torch",
        ) from None
    return dgl


def sum_over_neighbours(adjacency: CSR) -> Callable[[Array], Array]:
    """Return Z -> A Z for a matrix of small whole multiplicities, as DGL's fused copy_u/sum kernel.

    Args:
        adjacency: [N, N]; an entry of 2 becomes two parallel edges.
    """
    import torch

    dgl = _dgl()
    rows = np.repeat(np.arange(adjacency.shape[0], dtype=np.int64), np.diff(adjacency.indptr))
    columns = adjacency.indices.astype(np.int64)
    if adjacency.data is not None and adjacency.nnz and adjacency.data.max() > 1:
        repeats = adjacency.data.astype(np.int64)
        rows, columns = np.repeat(rows, repeats), np.repeat(columns, repeats)
    graph = dgl.graph(
        (torch.from_numpy(columns), torch.from_numpy(rows)), num_nodes=adjacency.shape[0]
    ).int()
    graph = graph.formats(["csc"])

    def step(z: Array) -> Array:
        return np.asarray(
            dgl.ops.copy_u_sum(graph, torch.from_numpy(np.ascontiguousarray(z))).numpy()
        )

    return step


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a file of dgl.save_graphs says: the edges, and the node data by their keys.

    Raises:
        TaamctlError: no such file, a damaged one, several graphs, or several types of nodes or
            edges.
    """
    path = only(paths, "what dgl.save_graphs writes")
    require_file(path)
    with reading(str(path)), path.open("rb") as stream:
        if stream.read(8) != MAGIC:  # its reader would go by whatever lengths stand there
            raise TaamctlError(
                f"{path} is not what dgl.save_graphs writes", "--format names another format"
            )
    dgl = _dgl()
    with reading(str(path)):
        try:
            graphs, _ = dgl.load_graphs(str(path))
        except dgl.DGLError as error:
            raise ValueError(
                str(error).splitlines()[0] if str(error) else "dgl refuses it"
            ) from error
    if len(graphs) != 1:
        raise TaamctlError(
            f"{path} holds {len(graphs)} graphs, expected one",
            "save the one that is meant: dgl.save_graphs(path, [graph])",
        )
    graph = graphs[0]
    if len(graph.ntypes) > 1 or len(graph.etypes) > 1:
        raise TaamctlError(
            f"{path} has the node types {', '.join(graph.ntypes)} and the edge types "
            f"{', '.join(graph.etypes)}, expected one of each",
            "save dgl.to_homogeneous(graph, ndata=[...])",
        )
    source, target = graph.edges(order="eid")
    arrays = {
        key: (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
        for key, value in graph.ndata.items()
    }
    left = tuple(f"{path}: edge data not read: {key}" for key in graph.edata)
    return from_arrays(
        arrays,
        options,
        str(path),
        (source.numpy(), target.numpy()),
        nodes=graph.num_nodes(),
        notes=left,
        by_row=True,
    )
