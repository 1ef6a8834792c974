"""A small graph written in every format that can be imported.

Loaded by path: tests are no package.
"""

from __future__ import annotations

import gzip
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp


@dataclass
class Spec:
    """Four nodes in a row, with a stroke back from 1 to 0."""

    x: Any = field(
        default_factory=lambda: np.array([[1.5, 0], [0, 2], [0.25, -1], [3, 4]], np.float32)
    )
    y: Any = field(default_factory=lambda: np.array([1, 0, 1, 0]))
    edges: list[tuple[Any, Any]] = field(default_factory=lambda: [(0, 1), (1, 2), (2, 3), (1, 0)])
    ids: list[str] | None = None
    time: list[Any] | None = None
    part: list[str] | None = None


def cell(value: Any) -> str:
    """Spell a value as a table does; NaN as an empty cell."""
    if isinstance(value, (float, np.floating)):
        return "" if np.isnan(value) else repr(float(value))
    return str(value)


def columns(spec: Spec, features: bool = True) -> dict[str, list[Any]]:
    """Return the node table."""
    n = np.shape(spec.x)[0]
    made: dict[str, list[Any]] = {} if spec.ids is None else {"id": list(spec.ids)}
    if spec.y is not None:
        y = np.asarray(spec.y)
        made["label"] = (y[:, 0] if y.ndim == 2 else y).tolist()
    if features:
        made |= {f"x{j}": [spec.x[i][j] for i in range(n)] for j in range(np.shape(spec.x)[1])}
    if spec.time is not None:
        made["time"] = list(spec.time)
    if spec.part is not None:
        made["part"] = list(spec.part)
    return made


def text(table: dict[str, list[Any]], delimiter: str, newline: str = "\n") -> bytes:
    """Return a table as text."""
    rows = [list(table), *([cell(v) for v in row] for row in zip(*table.values(), strict=True))]
    return "".join(delimiter.join(row) + newline for row in rows).encode()


def ends(spec: Spec) -> dict[str, list[Any]]:
    """Return the edge table, by names where nodes have names."""
    names = spec.ids
    named = [
        [
            names[v] if names is not None and isinstance(v, int) and 0 <= v < len(names) else v
            for v in e
        ]
        for e in spec.edges
    ]
    return {"source": [e[0] for e in named], "target": [e[1] for e in named]}


def csv(spec: Spec, folder: Path) -> list[Path]:
    """Write two CSV files."""
    (folder / "nodes.csv").write_bytes(text(columns(spec), ","))
    (folder / "edges.csv").write_bytes(text(ends(spec), ","))
    return [folder / "nodes.csv", folder / "edges.csv"]


def tsv(spec: Spec, folder: Path) -> list[Path]:
    """Write two gzipped TSV files with a byte-order mark and Windows' line ends."""
    (folder / "nodes.tsv.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbf" + text(columns(spec), "\t", "\r\n"))
    )
    (folder / "edges.tsv.gz").write_bytes(gzip.compress(text(ends(spec), "\t", "\r\n")))
    return [folder / "edges.tsv.gz", folder / "nodes.tsv.gz"]


def parquet(spec: Spec, folder: Path) -> list[Path]:
    """Write two Parquet files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name, table in (("nodes", columns(spec)), ("edges", ends(spec))):
        pq.write_table(pa.table(table), folder / f"{name}.parquet")
    return [folder / "nodes.parquet", folder / "edges.parquet"]


def arrays(spec: Spec) -> dict[str, Any]:
    """Return x, edge_index, y, and what else is stated."""
    made = {
        "x": np.asarray(spec.x) if not sp.issparse(spec.x) else spec.x,
        "edge_index": np.array(spec.edges).T,
    }
    if spec.y is not None:
        made["y"] = np.asarray(spec.y)
    if spec.ids is not None:
        made["node_id"] = np.array(spec.ids)
        made["edge_index"] = np.array(list(ends(spec).values()))
    if spec.time is not None:
        made["time"] = np.array(spec.time)
    if spec.part is not None:
        made |= {
            f"{p}_mask": np.array([q == p for q in spec.part]) for p in ("train", "val", "test")
        }
    return made


def npz(spec: Spec, folder: Path) -> list[Path]:
    """Write plain arrays."""
    np.savez(folder / "graph.npz", **arrays(spec))
    return [folder / "graph.npz"]


def benchmark(spec: Spec, folder: Path) -> list[Path]:
    """Write the gnn-benchmark keys."""
    n, (row, col) = np.shape(spec.x)[0], np.array(spec.edges).T
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    made = {
        "adj_data": np.ones(len(row)),
        "adj_indices": col[order],
        "adj_indptr": indptr,
        "adj_shape": [n, n],
    }
    x = sp.csr_matrix(spec.x)
    made |= {
        "attr_data": x.data,
        "attr_indices": x.indices,
        "attr_indptr": x.indptr,
        "attr_shape": x.shape,
    }
    if spec.y is not None:
        made["labels"] = np.asarray(spec.y)
    made |= {k: v for k, v in arrays(spec).items() if k == "time" or k.endswith("mask")}
    np.savez(folder / "benchmark.npz", **made)
    return [folder / "benchmark.npz"]


def coordinates(spec: Spec, folder: Path) -> Path:
    """Write the edges as a Matrix Market file, by hand: ids outside and duplicates too."""
    n = np.shape(spec.x)[0]
    lines = [f"{u + 1} {v + 1}" for u, v in spec.edges]
    head = ["%%MatrixMarket matrix coordinate pattern general", f"{n} {n} {len(lines)}"]
    (folder / "adjacency.mtx").write_text("\n".join([*head, *lines, ""]))
    return folder / "adjacency.mtx"


def mtx(spec: Spec, folder: Path) -> list[Path]:
    """Write a matrix of edges and a node table."""
    (folder / "nodes.csv").write_bytes(text(columns(spec), ","))
    return [folder / "nodes.csv", coordinates(spec, folder)]


def mtx_features(spec: Spec, folder: Path) -> list[Path]:
    """Write matrices of edges and of features, and a table without any."""
    scipy.io.mmwrite(folder / "features.mtx", sp.coo_matrix(spec.x))
    table = columns(spec, features=False)
    (folder / "labels.csv").write_bytes(text(table, ","))
    return [
        folder / "features.mtx",
        coordinates(spec, folder),
        *([folder / "labels.csv"] if table else []),
    ]


def graphml(spec: Spec, folder: Path) -> list[Path]:
    """Write GraphML, directed."""
    table = {k: v for k, v in columns(spec).items() if k != "id"}
    names = spec.ids or [str(i) for i in range(len(spec.x))]
    keys = "".join(
        f'<key id="d{k}" for="node" attr.name="{name}" attr.type="{_kind(values)}"/>'
        for k, (name, values) in enumerate(table.items())
    )
    nodes = "".join(
        f'<node id="{names[i]}">'
        + "".join(f'<data key="d{k}">{cell(v[i])}</data>' for k, v in enumerate(table.values()))
        + "</node>"
        for i in range(len(spec.x))
    )
    edges = "".join(
        f'<edge source="{u}" target="{v}"/>' for u, v in zip(*ends(spec).values(), strict=True)
    )
    (folder / "graph.graphml").write_text(
        '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{keys}<graph edgedefault="directed">{nodes}{edges}</graph></graphml>'
    )
    return [folder / "graph.graphml"]


def _kind(values: list[Any]) -> str:
    return {bool: "boolean", int: "long", float: "double", str: "string"}[
        type(np.asarray(values).tolist()[0])
    ]


def dgl(spec: Spec, folder: Path) -> list[Path]:
    """Write a DGL graph."""
    import torch

    library = __import__("dgl")
    made = arrays(spec)
    source, target = made.pop("edge_index")
    graph = library.graph((torch.tensor(source), torch.tensor(target)), num_nodes=len(spec.x))
    for key, value in made.items():
        graph.ndata[{"x": "feat", "y": "label"}.get(key, key)] = torch.tensor(value)
    library.save_graphs(str(folder / "graph.bin"), [graph])
    return [folder / "graph.bin"]


def tensors(spec: Spec) -> dict[str, Any]:
    """Return `arrays` as tensors, and text as lists."""
    import torch

    made: dict[str, Any] = {}
    for key, value in arrays(spec).items():
        if sp.issparse(value):
            made[key] = torch.sparse_coo_tensor(
                np.array(value.nonzero()), value.data, value.shape, check_invariants=True
            )
        else:
            made[key] = value.tolist() if value.dtype.kind == "U" else torch.tensor(value)
    return made


def pt(spec: Spec, folder: Path) -> list[Path]:
    """Write a dict of tensors."""
    import torch

    torch.save(tensors(spec), folder / "graph.pt")
    return [folder / "graph.pt"]


def pyg(spec: Spec, folder: Path) -> list[Path]:
    """Write a PyG Data."""
    save_object(folder / "data.pt", "Data", tensors(spec))
    return [folder / "data.pt"]


def save_object(
    path: Path, kind: str, content: dict[str, Any], wrap: Callable[[Any], Any] = lambda made: made
) -> None:
    """Save an object as PyG lays it out, its classes made up here and gone afterwards."""
    import torch

    modules = {
        name: types.ModuleType(name)
        for name in (
            "torch_geometric",
            "torch_geometric.data",
            "torch_geometric.data.data",
            "torch_geometric.data.storage",
        )
    }
    outer = type(kind, (), {"__module__": "torch_geometric.data.data"})
    store = type("GlobalStorage", (), {"__module__": "torch_geometric.data.storage"})
    setattr(modules["torch_geometric.data.data"], kind, outer)
    modules["torch_geometric.data.storage"].GlobalStorage = store  # type: ignore[attr-defined]
    made, inner = outer(), store()
    made.__dict__["_store"] = inner
    inner.__dict__.update(_mapping=content, _parent=made)
    sys.modules.update(modules)
    try:
        torch.save(wrap(made), path)
    finally:
        for name in modules:
            del sys.modules[name]


def ogb(spec: Spec, folder: Path) -> list[Path]:
    """Write an OGB csv folder."""
    raw = folder / "raw"
    raw.mkdir()
    y = np.asarray(spec.y).reshape(len(spec.x), -1).tolist()
    for name, table in (
        ("edge", spec.edges),
        ("node-feat", np.asarray(spec.x).tolist()),
        ("node-label", y),
        ("num-node-list", [[len(spec.x)]]),
        ("num-edge-list", [[len(spec.edges)]]),
    ):
        lines = "".join(",".join(cell(v) for v in row) + "\n" for row in table)
        (raw / f"{name}.csv.gz").write_bytes(gzip.compress(lines.encode(), mtime=0))
    if spec.time is not None:
        (raw / "node_year.csv.gz").write_bytes(
            gzip.compress("".join(f"{t}\n" for t in spec.time).encode(), mtime=0)
        )
    return [raw]


def ogb_binary(spec: Spec, folder: Path) -> list[Path]:
    """Write an OGB binary folder, and name the one above it."""
    (folder / "raw").mkdir()
    more = {} if spec.time is None else {"node_year": np.array(spec.time)[:, None]}
    np.savez(
        folder / "raw" / "data.npz",
        edge_index=np.array(spec.edges).T,
        node_feat=np.asarray(spec.x),
        num_nodes_list=[len(spec.x)],
        num_edges_list=[len(spec.edges)],
        **more,
    )
    np.savez(
        folder / "raw" / "node-label.npz", node_label=np.asarray(spec.y).reshape(len(spec.x), -1)
    )
    return [folder]


WRITERS: dict[str, Callable[[Spec, Path], list[Path]]] = {
    "csv": csv,
    "tsv": tsv,
    "parquet": parquet,
    "npz": npz,
    "benchmark": benchmark,
    "mtx": mtx,
    "mtx_features": mtx_features,
    "graphml": graphml,
    "dgl": dgl,
    "pt": pt,
    "pyg": pyg,
    "ogb": ogb,
    "ogb_binary": ogb_binary,
}
ALL = frozenset(WRITERS)
TABLES = frozenset({"csv", "tsv", "parquet"})
# what a format cannot say
NO_TEXT_LABELS = frozenset({"dgl", "ogb_binary"})  # tensors; ogb's label arrays are numbers
NO_NAMES = frozenset(
    {"benchmark", "mtx_features", "dgl", "ogb", "ogb_binary", "mtx", "npz", "pt", "pyg"}
)
NO_PARTS = frozenset({"ogb", "ogb_binary"})
ONE_COLUMN_LABELS = frozenset(
    {"csv", "tsv", "parquet", "mtx", "mtx_features", "graphml"}
)  # tables have no matrix of labels
