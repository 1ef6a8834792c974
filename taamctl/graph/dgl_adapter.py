"""The only module that imports dgl: a propagation kernel, and the files that dgl.save_graphs
writes.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import CSR, Array
from taamctl.graph.raw_values import reading

MAGIC = (0xDD2E4FF046B4A13F).to_bytes(8, "little")  # first bytes of what dgl.save_graphs writes


def _dgl() -> ModuleType:
    # else the first import writes a config file into the user's home
    os.environ.setdefault("DGLBACKEND", "pytorch")
    try:
        dgl = importlib.import_module("dgl")
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
        rows = np.repeat(rows, repeats)
        columns = np.repeat(columns, repeats)
    ends = (torch.from_numpy(columns), torch.from_numpy(rows))
    graph = dgl.graph(ends, num_nodes=adjacency.shape[0]).int().formats(["csc"])

    def step(z: Array) -> Array:
        summed = dgl.ops.copy_u_sum(graph, torch.from_numpy(np.ascontiguousarray(z)))
        return np.asarray(summed.numpy())

    return step


@dataclass(frozen=True)
class SavedGraph:
    """What a file of dgl.save_graphs holds.

    Attributes:
        source, target: [E] row numbers, in the order that the edges were added.
        node_data: key -> [N, ...] array.
        edge_keys: keys of what is stored of edges; it is not read.
        texts: key -> names, where the file's labels hold a list of such, as `save_graph` writes it.
    """

    num_nodes: int
    source: Array
    target: Array
    node_data: dict[str, Array]
    edge_keys: tuple[str, ...]
    texts: dict[str, Array] = field(default_factory=dict)


def load_graph(path: Path) -> SavedGraph:
    """Read the one graph in a file of dgl.save_graphs.

    Raises:
        TaamctlError: no such file, a damaged one, several graphs, or several types of nodes or
            edges.
    """
    dgl = _dgl()
    with reading(str(path)):
        try:
            graphs, labels = dgl.load_graphs(str(path))
        except dgl.DGLError as error:
            reason = str(error).splitlines()[0] if str(error) else "dgl refuses it"
            raise ValueError(reason) from error
    if len(graphs) != 1:
        raise TaamctlError(
            f"{path} holds {len(graphs)} graphs, expected one",
            "save the one that is meant: dgl.save_graphs(path, [graph])",
        )
    return replace(saved(graphs[0], str(path)), texts=_texts(labels))


def saved(graph: Plain, where: str) -> SavedGraph:
    """Return what a DGLGraph holds.

    Raises:
        TaamctlError: several types of nodes or edges.
    """
    if len(graph.ntypes) > 1 or len(graph.etypes) > 1:
        raise TaamctlError(
            f"{where} has the node types {', '.join(graph.ntypes)} and the edge types "
            f"{', '.join(graph.etypes)}, expected one of each",
            "take dgl.to_homogeneous(graph, ndata=[...])",
        )
    source, target = graph.edges(order="eid")
    node_data: dict[str, Array] = {}
    for key, value in graph.ndata.items():
        if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
            value = value.float()
        node_data[key] = value.detach().cpu().numpy()
    ends = (source.cpu().numpy(), target.cpu().numpy())
    return SavedGraph(graph.num_nodes(), *ends, node_data, tuple(graph.edata))


def _texts(labels: Mapping[str, Plain]) -> dict[str, Array]:
    """Return the lists of names among a file's labels: bytes of JSON, as DGL keeps no text."""
    found = {}
    for key, value in labels.items():
        try:
            names = json.loads(value.numpy().tobytes().decode("utf-8"))
        except (AttributeError, TypeError, ValueError):
            continue
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            found[key] = np.array(names)
    return found


def made(nodes: int, ends: tuple[Array, Array], node_data: Mapping[str, Array]) -> Plain:
    """Return a DGLGraph.

    Args:
        nodes: N. ends: [E] int64 sources and targets.
        node_data: key -> [N, ...] numbers or truths.

    Raises:
        TaamctlError: dgl is missing.
    """
    import torch

    graph = _dgl().graph(tuple(torch.from_numpy(end) for end in ends), num_nodes=nodes)
    for key, values in node_data.items():
        graph.ndata[key] = torch.from_numpy(np.ascontiguousarray(values))
    return graph


def save_graph(
    path: Path,
    nodes: int,
    ends: tuple[Array, Array],
    node_data: Mapping[str, Array],
    texts: Mapping[str, Sequence[str]],
) -> None:
    """Write a graph as dgl.save_graphs does.

    Args:
        nodes: N. ends: [E] int64 sources and targets.
        node_data: key -> [N, ...] numbers or truths.
        texts: key -> names; kept as bytes of JSON among the labels of the file, since DGL keeps no
            text.

    Raises:
        TaamctlError: dgl is missing.
    """
    import torch

    dgl = _dgl()
    graph = made(nodes, ends, node_data)
    coded = {key: json.dumps(list(names)).encode() for key, names in texts.items()}
    labels = {
        key: torch.frombuffer(bytearray(text), dtype=torch.uint8) for key, text in coded.items()
    }
    dgl.save_graphs(str(path), [graph], labels)
