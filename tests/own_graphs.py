"""Draw graphs, write them as the files that people have, and read them: the same graph, or a
refusal.

    python tests/own_graphs.py --draws 10000 --seed 0

prints how many draws of each kind of file were read and refused, and why; exit code 1 where one was
read as another graph. `--only 4711` draws one seed again, and keeps its files.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import io
import json
import logging
import multiprocessing
import re
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.importing import guarded, importers
from taamctl.importing.node_ids import id_text
from taamctl.importing.options import ImportOptions

Array = np.ndarray[Any, Any]
Rng = np.random.Generator
IDS = ("id", "ID", "node_id", "nodeId", "name", "index", "vertex")
LIKE_IDS = ("paper_id", "txId", "user_id", "movieId", "node_uuid", "productID")
UNUSUAL_IDS = (
    *LIKE_IDS,
    *("node_idx", "orcid", "gene", "doi", "accountUuid", "Id der Firma", "Knoten", "protein"),
    *("isbn", "author"),
)
LABELS = ("label", "Label", "class", "y", "category", "subject", "community", "class_label")
ENDS = (
    *(("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("citing", "cited")),
    *(("id1", "id2"), ("node1", "node2"), ("Source", "Target"), ("FromNodeId", "ToNodeId")),
)
UNUSUAL_ENDS = (("paper1", "paper2"), ("buyer", "seller"), ("txId1", "txId2"), ("a", "b"))
WORDS = ("Books", "Music", "Garden & Home", "Tea, Coffee", "Küche", "O'Neill", "class 10", "b")
NO_LABEL = ("", "", "", "?", "NA", "nan", "unknown", "-1")


@dataclass
class Truth:
    """The graph that a file means: nodes in the order of the file.

    Attributes:
        x: [N, F] float32. features: F names; empty where the file has none.
        labels: what the nodes are called by class, None for none. exact: whether classes keep these
            names.
        ends: edges as (source row, target row), as often as they stand in the file.
        ids: the nodes' names; None where they have none.
        part: [N] number of the part, -1 for none; None where the file states none.
    """

    x: Array
    features: tuple[str, ...]
    labels: list[str | None]
    exact: bool
    ends: list[tuple[int, int]]
    ids: list[str] | None = None
    part: list[int] | None = None

    @property
    def nodes(self) -> int:
        """Return N."""
        return len(self.x)


@dataclass
class Drawn:
    """What is to be read: files, what they mean, and what their user says of them."""

    kind: str
    paths: list[Path]
    truth: Truth
    options: dict[str, Any] = field(default_factory=dict)
    format: str = ""


def one(rng: Rng, options: Any) -> Any:
    """Draw one of several things."""
    return options[int(rng.integers(len(options)))]


def maybe(rng: Rng, share: float) -> bool:
    """Draw a truth."""
    return bool(rng.random() < share)


def node_names(rng: Rng, n: int) -> list[str]:
    """Draw N different names, as one source spells them."""
    big = [str(v) for v in rng.choice(np.arange(10 * n + 7, 10**9, 10**5), n, replace=False)]
    ways: tuple[Callable[[], list[str]], ...] = (
        lambda: [str(i) for i in range(n)],
        lambda: [str(i) for i in range(1, n + 1)],
        lambda: [str(i) for i in rng.permutation(n)],
        lambda: [str(i + 1) for i in rng.permutation(n)],
        lambda: [str(i) for i in rng.choice(3 * n, n, replace=False)],
        lambda: big,
        lambda: [f"{int(v):012d}" for v in big],
        lambda: [f"{int(v)}.0" for v in big],
        lambda: [f"n{i}" for i in rng.permutation(n)],
        lambda: [f"P {i:03d}" for i in rng.permutation(n)],
        lambda: [f"{i}, Ltd." for i in rng.permutation(n)],
        lambda: [f'"{i}"' for i in rng.permutation(n)],
        lambda: [rng.bytes(8).hex() for _ in range(n)],
        lambda: [f"{rng.integers(1 << 40):x}" for _ in range(n)],
        lambda: [f"b'n{i}'" for i in rng.permutation(n)],
        lambda: [f"10.{i}/é{i}" for i in rng.permutation(n)],
        lambda: [f"{10**17 + int(i) * 3}" for i in rng.permutation(n)],
    )
    return one(rng, ways)()


def features(rng: Rng, n: int) -> Array:
    """Draw features, [N, F] float32, none of which counts the nodes."""
    width = int(rng.integers(1, 7))
    kind = int(rng.integers(4))
    if kind == 0:
        made = np.round(rng.normal(size=(n, width)), 3)
    elif kind == 1:
        made = rng.integers(0, 2, (n, width))
    elif kind == 2:
        made = rng.poisson(2, (n, width))
    else:
        made = rng.normal(size=(n, width))
    return np.asarray(made, np.float32)


def feature_names(rng: Rng, width: int) -> tuple[str, ...]:
    """Draw names of columns that mean nothing else."""
    ways = ("f{}", "x{}", "word_{}", "feature {}", "{}", "a, {}", "Größe {}", "pc.{}", "w[{}]")
    way = one(rng, ways)
    return tuple(way.format(i) for i in range(width))


def labels(rng: Rng, n: int) -> tuple[list[str | None], bool]:
    """Draw the nodes' classes as text, None for none; and whether the text names the class."""
    classes = 1 + int(rng.integers(5)) * int(maybe(rng, 0.95))
    kind = int(rng.integers(4))
    words = [str(w) for w in rng.permutation(np.array(WORDS))[:classes]]
    if kind == 1:
        words = [str(i) for i in range(classes)]
    elif kind == 2:
        words = [str(10 * i + 10) for i in range(classes)]
    elif kind == 3:
        words = [f"{i}.0" for i in range(classes)]
    made: list[str | None] = [one(rng, words) for _ in range(n)]
    if maybe(rng, 0.5):
        share = one(rng, (0.04, 0.3))
        made = [None if maybe(rng, share) else word for word in made]
    return made, kind == 0


def truth_of(rng: Rng, ids: bool = True) -> Truth:
    """Draw a graph whose edges join the classes more often than by chance."""
    n = int(rng.integers(4, 60)) if maybe(rng, 0.2) else int(rng.integers(14, 60))
    of, exact = labels(rng, n)
    ends = []
    for _ in range(int(rng.integers(n, 4 * n))):
        u, v = int(rng.integers(n)), int(rng.integers(n))
        if of[u] == of[v] or maybe(rng, 0.4):
            ends.append((u, v))
    ends += ends[: int(rng.integers(3))]  # that stand twice
    x = features(rng, n)
    names = node_names(rng, n) if ids else None
    return Truth(x, (), of, exact, ends or [(0, 1)], names)


def both_ways(truth: Truth) -> Truth:
    """Return the graph whose edges go both ways."""
    return Truth(**{**vars(truth), "ends": [*truth.ends, *((v, u) for u, v in truth.ends)]})


# ---- tables


def number(value: float, decimal: str) -> str:
    """Spell a number as tables do."""
    text = str(int(value)) if float(value).is_integer() else str(np.float32(value))
    return text.replace(".", decimal)


def text_table(
    rng: Rng, path: Path, head: list[str] | None, rows: list[list[str]], parts: str
) -> None:
    """Write a table in one of the ways that programmes do."""
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if maybe(rng, 0.15) else csv.QUOTE_MINIMAL
    end = one(rng, ("\n", "\n", "\r\n"))
    writer = csv.writer(out, delimiter=parts, lineterminator=end, quoting=quoting)
    if parts == ";" and maybe(rng, 0.1):
        out.write(f"sep=;{end}")
    if head is not None:
        bare = not any("," in name or not name for name in head)
        if maybe(rng, 0.1) and quoting == csv.QUOTE_MINIMAL and bare:
            out.write("# ")
        writer.writerow(head)
    writer.writerows(rows)
    text = out.getvalue()
    if maybe(rng, 0.1):
        text = text.rstrip("\r\n")
    path.write_bytes(text.encode("utf-8-sig" if maybe(rng, 0.15) else "utf-8"))


def node_columns(
    rng: Rng, truth: Truth, decimal: str, names: tuple[str, ...] = ()
) -> tuple[dict[str, list[str]], str]:
    """Draw the columns of a node table, and the name of the one with the ids, one of `names`."""
    word = one(rng, NO_LABEL)
    cells = {
        one(rng, LABELS): [word if label is None else label for label in truth.labels],
    }
    truth.features = feature_names(rng, truth.x.shape[1])
    for j, name in enumerate(truth.features):
        cells[name] = [number(value, decimal) for value in truth.x[:, j]]
    own = ""
    if truth.ids is not None:
        own = one(rng, names or (IDS if maybe(rng, 0.5) else UNUSUAL_IDS))
        cells[own] = truth.ids
    if maybe(rng, 0.2):
        truth.part = rng.integers(-1, 3, truth.nodes).tolist()
        cells[one(rng, ("part", "split"))] = [("train", "val", "test", "")[p] for p in truth.part]
    if maybe(rng, 0.1):
        cells[""] = [str(i) for i in range(truth.nodes)]  # as pandas writes its index
    order = rng.permutation(np.array(list(cells), object)).tolist()
    return {name: cells[name] for name in order}, own


def edge_columns(rng: Rng, truth: Truth) -> dict[str, list[str]]:
    """Draw the columns of an edge table."""
    names = truth.ids or [str(i) for i in range(truth.nodes)]
    pair = one(rng, ENDS if maybe(rng, 0.8) else UNUSUAL_ENDS)
    order = rng.permutation(len(truth.ends))
    ends = [truth.ends[i] for i in order]
    cells = {pair[0]: [names[u] for u, _ in ends], pair[1]: [names[v] for _, v in ends]}
    if maybe(rng, 0.3):
        cells[one(rng, ("weight", "w", "time", "value"))] = [str(one(rng, (1, 2.5))) for _ in ends]
    return cells


def tables(rng: Rng, folder: Path) -> Drawn:
    """Draw a node table and an edge list as text."""
    truth = truth_of(rng, ids=maybe(rng, 0.85))
    parts = one(rng, (",", ",", ",", ";", "\t", "|"))
    decimal = "," if parts == ";" and maybe(rng, 0.5) else "."
    options: dict[str, Any] = {"decimal": ","} if decimal == "," and maybe(rng, 0.9) else {}
    cells, _ = node_columns(rng, truth, decimal)
    paths = [folder / f"{one(rng, ('nodes', 'papers', 'data'))}.csv", folder / "edges.csv"]
    text_table(
        rng, paths[0], list(cells), [list(row) for row in zip(*cells.values(), strict=True)], parts
    )
    edges = edge_columns(rng, truth)
    header: list[str] | None = list(edges)
    if maybe(rng, 0.15) and len(edges) == 2:
        header = None
    elif maybe(rng, 0.2):
        edges = dict(reversed(edges.items()))
        # of names that mean no direction, the first column is the source
        header = list(edges)
        if tuple(header)[-2:] in [pair[::-1] for pair in UNUSUAL_ENDS]:
            edges = dict(reversed(edges.items()))
            header = list(edges)
    rows = [list(row) for row in zip(*edges.values(), strict=True)]
    text_table(rng, paths[1], header, rows, one(rng, (parts, "\t")))
    if maybe(rng, 0.5):
        paths.reverse()
    return Drawn("tables", paths, truth, options)


def content(rng: Rng, folder: Path) -> Drawn:
    """Draw the two tables without header that the papers on citation graphs have."""
    truth = truth_of(rng)
    truth.labels = [label or "Books" for label in truth.labels]
    parts = one(rng, ("\t", "\t", " "))
    assert truth.ids is not None
    if parts == " ":
        truth.ids = [re.sub('[" ]', "_", id_text(name)) for name in truth.ids]
        truth.labels = [str(label).replace(" ", "_") for label in truth.labels]
    names = [f"column {i + 1}" for i in range(truth.x.shape[1])]
    truth.features = tuple(names)
    rows = [
        [name, *(number(v, ".") for v in row), str(label)]
        for name, row, label in zip(truth.ids, truth.x, truth.labels, strict=True)
    ]
    paths = [folder / "g.content", folder / "g.cites"]
    text_table(rng, paths[0], None, rows, parts)
    text_table(rng, paths[1], None, [[truth.ids[u], truth.ids[v]] for u, v in truth.ends], parts)
    return Drawn("content", paths, truth)


def parquet(rng: Rng, folder: Path) -> Drawn:
    """Draw the tables as pandas writes them, typed as it guesses."""
    import pandas as pd

    truth = truth_of(rng, ids=maybe(rng, 0.9))
    cells, own = node_columns(rng, truth, ".")
    cells.pop("", None)
    frame = pd.DataFrame(cells)
    for name in truth.features:
        frame[name] = frame[name].astype(np.float32)
    edges = pd.DataFrame(edge_columns(rng, truth))
    whole = truth.ids is not None and all(re.fullmatch("[1-9][0-9]{0,17}|0", i) for i in truth.ids)
    if whole and maybe(rng, 0.7):
        frame[own] = frame[own].astype(np.int64)
        for name in list(edges)[:3]:
            with contextlib.suppress(ValueError):
                edges[name] = edges[name].astype(np.int64)
    paths = [folder / "nodes.parquet", folder / "edges.parquet"]
    frame.to_parquet(paths[0])
    edges.to_parquet(paths[1])
    return Drawn("parquet", paths, truth)


# ---- matrices and arrays


def matrix(truth: Truth) -> sp.coo_matrix:
    """Return the edges as a matrix: entry (u, v) is an edge from u to v."""
    ends = np.array(sorted(set(truth.ends)), np.int64)
    shape = (truth.nodes, truth.nodes)
    return sp.coo_matrix((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)


def market(rng: Rng, folder: Path) -> Drawn:
    """Draw Matrix Market files, with a node table or with matrices and labels."""
    from scipy.io import mmwrite

    truth = truth_of(rng, ids=False)
    symmetric = maybe(rng, 0.4)
    if symmetric:
        truth = both_ways(truth)
    kind = one(rng, ("pattern", "real", "integer"))
    edges = folder / one(rng, ("edges.mtx", "adj.mtx", "graph.mtx", "A.mtx"))
    adjacency = matrix(truth)
    mmwrite(edges, adjacency, field=kind, symmetry="symmetric" if symmetric else "general")
    paths = [edges]
    if maybe(rng, 0.5):
        if maybe(rng, 0.5):
            truth.ids = node_names(rng, truth.nodes)
        # no edge names a node here, so that only its name tells an id
        cells, _ = node_columns(rng, truth, ".", (*IDS, *LIKE_IDS))
        cells.pop("", None)
        paths.append(folder / "nodes.csv")
        text_table(
            rng,
            paths[1],
            list(cells),
            [list(row) for row in zip(*cells.values(), strict=True)],
            ",",
        )
    else:
        truth.labels, truth.exact = [label or "3" for label in truth.labels], False
        classes = {label: str(i) for i, label in enumerate(sorted(set(map(str, truth.labels))))}
        x = truth.x if maybe(rng, 0.5) else sp.coo_matrix(truth.x)
        paths += [folder / "features.mtx", folder / one(rng, ("labels.txt", "labels.csv"))]
        mmwrite(paths[1], x, precision=9)
        head = "label\n" if maybe(rng, 0.5) else ""
        text = "\n".join(classes[str(label)] for label in truth.labels)
        paths[2].write_text(f"{head}{text}\n")
    rng.shuffle(paths)  # type: ignore[arg-type]
    return Drawn("mtx", paths, truth)


def label_array(rng: Rng, truth: Truth) -> Array:
    """Return the classes as numbers, -1 for none, or as text."""
    if truth.exact and maybe(rng, 0.3):
        return np.array([label or "" for label in truth.labels])
    truth.exact = False
    kinds = sorted({label for label in truth.labels if label is not None})
    made = np.array([-1 if label is None else kinds.index(label) for label in truth.labels])
    if maybe(rng, 0.1) and (made >= 0).all():
        return np.eye(len(kinds), dtype=np.int64)[made]
    return made.astype(one(rng, (np.int64, np.int32, np.float32)))


def masks(rng: Rng, truth: Truth) -> dict[str, Array]:
    """Draw masks of the parts, or none."""
    if maybe(rng, 0.6):
        return {}
    part = rng.integers(-1, 3, truth.nodes)
    truth.part = part.tolist()
    return {f"{word}_mask": part == p for p, word in enumerate(("train", "val", "test"))}


def id_array(rng: Rng, truth: Truth) -> dict[str, Array]:
    """Draw an array of the nodes' names, or none."""
    if truth.ids is None:
        return {}
    whole = all(re.fullmatch("[1-9][0-9]{0,17}|0", name) for name in truth.ids)
    names = np.array(truth.ids)
    if whole and maybe(rng, 0.7):
        names = names.astype(np.int64)
    return {one(rng, ("node_id", "ids", "name", "names", "node_names")): names}


def npz(rng: Rng, folder: Path) -> Drawn:
    """Draw NumPy arrays in one of the layouts in use."""
    truth = truth_of(rng, ids=maybe(rng, 0.4))
    ends = np.array(truth.ends)
    layout = int(rng.integers(5))
    arrays: dict[str, Any] = {}
    if layout in (3, 4):
        csr = matrix(truth).tocsr()
        arrays |= {f"adj_{p}": getattr(csr, p) for p in ("data", "indices", "indptr")}
        arrays |= {"adj_shape": np.array(csr.shape), "labels": label_array(rng, truth)}
        if layout == 3:
            x = sp.csr_matrix(truth.x)
            arrays |= {f"attr_{p}": getattr(x, p) for p in ("data", "indices", "indptr")}
            arrays["attr_shape"] = np.array(x.shape)
        else:
            arrays["attr_matrix"] = truth.x
    else:
        names = truth.ids
        if names is not None and maybe(rng, 0.3):
            whole = all(re.fullmatch("[1-9][0-9]{0,17}|0", name) for name in names)
            ends = np.array(names)[ends]
            if whole:
                ends = ends.astype(np.int64)
        of_edges = (
            {"edge_index": ends.T},
            {one(rng, ("edges", "edge_list")): ends},
            dict(
                zip(
                    one(rng, (("src", "dst"), ("row", "col"), ("source", "target"))),
                    ends.T,
                    strict=True,
                )
            ),
        )
        arrays |= of_edges[layout]
        arrays[one(rng, ("x", "feat", "features", "node_feat"))] = truth.x
        arrays[one(rng, ("y", "label", "labels", "node_labels"))] = label_array(rng, truth)
    arrays |= id_array(rng, truth) | masks(rng, truth)
    order = rng.permutation(np.array(list(arrays), object)).tolist()
    path = folder / "graph.npz"
    np.savez(path, **{key: arrays[key] for key in order})
    return Drawn("npz", [path], truth)


def pyg(rng: Rng, folder: Path) -> Drawn:
    """Draw a dict of tensors."""
    import torch

    truth = truth_of(rng, ids=maybe(rng, 0.4))
    tensors: dict[str, Any] = {
        "x": torch.from_numpy(truth.x),
        "edge_index": torch.from_numpy(np.array(truth.ends).T.copy()),
    }
    of = label_array(rng, truth)
    tensors["y"] = of.tolist() if of.dtype.kind == "U" else torch.from_numpy(of)
    tensors |= {key: torch.from_numpy(mask) for key, mask in masks(rng, truth).items()}
    for key, names in id_array(rng, truth).items():
        tensors[key] = names.tolist() if names.dtype.kind == "U" else torch.from_numpy(names)
    if maybe(rng, 0.5):
        tensors["num_nodes"] = truth.nodes
    path = folder / "data.pt"
    torch.save(tensors, path)
    return Drawn("pyg", [path], truth)


def dgl(rng: Rng, folder: Path) -> Drawn:
    """Draw what dgl.save_graphs writes."""
    import os

    os.environ.setdefault("DGLBACKEND", "pytorch")
    import dgl as library
    import torch

    truth = truth_of(rng, ids=maybe(rng, 0.4))
    if truth.ids and not all(re.fullmatch("[1-9][0-9]{0,17}|0", name) for name in truth.ids):
        truth.ids = [str(i) for i in rng.permutation(truth.nodes)]
    u, v = np.array(truth.ends).T.copy()
    graph = library.graph((torch.from_numpy(u), torch.from_numpy(v)), num_nodes=truth.nodes)
    graph.ndata[one(rng, ("feat", "x", "features"))] = torch.from_numpy(truth.x)
    truth.exact = False
    of = label_array(rng, truth)
    graph.ndata[one(rng, ("label", "y", "labels"))] = torch.from_numpy(of)
    for key, mask in masks(rng, truth).items():
        graph.ndata[key] = torch.from_numpy(mask)
    if truth.ids is not None:
        key = one(rng, ("_ID", "node_id", "ids"))
        graph.ndata[key] = torch.from_numpy(np.array(truth.ids).astype(np.int64))
    path = folder / "graph.bin"
    library.save_graphs(str(path), [graph])
    return Drawn("dgl", [path], truth)


def mat(rng: Rng, folder: Path) -> Drawn:
    """Draw MATLAB's matrices."""
    from scipy.io import savemat

    truth = truth_of(rng, ids=False)
    truth.labels = [label or "Books" for label in truth.labels]
    truth.exact = False
    kinds = sorted({str(label) for label in truth.labels})
    of = np.array([kinds.index(str(label)) + 1 for label in truth.labels])
    adjacency = matrix(truth)
    keys = one(rng, (("Network", "Attributes", "Label"), ("network", "attrb", "group")))
    label = of[:, None] if maybe(rng, 0.5) else np.eye(len(kinds))[of - 1]
    if keys[2] == "Label":
        label = of[:, None]
    x = sp.csc_matrix(truth.x) if maybe(rng, 0.5) else truth.x
    edges = adjacency.tocsc() if maybe(rng, 0.5) else adjacency.toarray()
    path = folder / "graph.mat"
    savemat(path, {keys[0]: edges, keys[1]: x, keys[2]: label})
    return Drawn("mat", [path], truth)


# ---- nodes with attributes


def attributes(rng: Rng, truth: Truth, plain: bool = False) -> tuple[Any, bool]:
    """Draw a networkx graph of the truth; and whether it has directions."""
    import networkx as nx

    directed = maybe(rng, 0.5)
    graph = (nx.DiGraph if directed else nx.Graph)()
    ways = ("f{}", "x{}", "word_{}") if plain else ("f{}", "x{}", "feature {}", "a, {}", "Größe {}")
    way = one(rng, ways)
    truth.features = tuple(way.format(i) for i in range(truth.x.shape[1]))
    key = one(rng, ("class", "category", "subject", "community", "kind_class"[5:]))
    names = truth.ids or [str(i) for i in range(truth.nodes)]
    word = one(rng, NO_LABEL)
    for row, name in enumerate(names):
        label = truth.labels[row]
        cells = {n: float(v) for n, v in zip(truth.features, truth.x[row], strict=True)}
        cells |= {key: word if label is None else label}
        graph.add_node(name, **cells)
    for u, v in truth.ends:
        graph.add_edge(names[u], names[v], **({"weight": 2.0} if maybe(rng, 0.3) else {}))
    truth.ids = names
    return graph, directed


def networkx_file(kind: str, write: Callable[[Any, Path, Rng], None]) -> Any:
    """Return what draws a file that networkx writes."""

    def draw(rng: Rng, folder: Path) -> Drawn:
        truth = truth_of(rng)
        truth.ids = [id_text(name) for name in truth.ids or ()]
        if kind == "pajek":  # networkx writes such marks as they are, and cannot read them back
            truth.labels = [label and label.replace("'", "") for label in truth.labels]
            truth.ids = [name.replace('"', "") for name in truth.ids]
        graph, directed = attributes(rng, truth, plain=kind == "gml")
        path = folder / f"graph.{ {'pajek': 'net'}.get(kind, kind) }"
        write(graph, path, rng)
        if kind == "gml":  # whose ids are numbers; the names are labels of the drawing
            truth.ids = None
        return Drawn(kind, [path], truth if directed else both_ways(truth))

    return draw


def write_graphml(graph: Any, path: Path, rng: Rng) -> None:
    """Write GraphML."""
    import networkx as nx

    nx.write_graphml_xml(graph, path)


def write_gexf(graph: Any, path: Path, rng: Rng) -> None:
    """Write GEXF."""
    import networkx as nx

    nx.write_gexf(graph, path)


def write_gml(graph: Any, path: Path, rng: Rng) -> None:
    """Write GML."""
    import networkx as nx

    nx.write_gml(graph, path)


def write_pajek(graph: Any, path: Path, rng: Rng) -> None:
    """Write Pajek, which keeps text only."""
    import networkx as nx

    for node in graph:
        graph.nodes[node].update({k: str(v) for k, v in graph.nodes[node].items()})
    nx.write_pajek(graph, path)


def write_json(graph: Any, path: Path, rng: Rng) -> None:
    """Write node-link JSON as networkx, d3 or Cytoscape do."""
    import networkx as nx

    data = nx.node_link_data(graph, edges=one(rng, ("links", "edges")))
    if maybe(rng, 0.3):
        for node in data["nodes"]:
            node |= {"vx": 0.5, "vy": 1.5, "index": 3}  # as d3 leaves them
    if maybe(rng, 0.2):
        wrapped = [[{"data": one_of} for one_of in data[key]] for key in ("nodes",)]
        links = data.get("links", data.get("edges"))
        data = {"directed": data["directed"], "elements": {"nodes": wrapped[0], "edges": links}}
    path.write_text(json.dumps(data, ensure_ascii=maybe(rng, 0.5)), encoding="utf-8")


KINDS: dict[str, tuple[int, Callable[[Rng, Path], Drawn]]] = {
    "tables": (40, tables),
    "content": (6, content),
    "parquet": (6, parquet),
    "mtx": (8, market),
    "npz": (12, npz),
    "pyg": (8, pyg),
    "dgl": (4, dgl),
    "mat": (1, mat),
    "graphml": (4, networkx_file("graphml", write_graphml)),
    "json": (4, networkx_file("json", write_json)),
    "gexf": (3, networkx_file("gexf", write_gexf)),
    "gml": (3, networkx_file("gml", write_gml)),
    "pajek": (2, networkx_file("pajek", write_pajek)),
}
NEEDS = {"parquet": "pyarrow", "dgl": "dgl", "gexf": "networkx", "gml": "networkx"}
NEEDS |= dict.fromkeys(("pajek", "graphml", "json"), "networkx")


def possible() -> list[str]:
    """Return the kinds of files whose libraries are there."""
    from importlib.util import find_spec

    return [kind for kind in KINDS if kind not in NEEDS or find_spec(NEEDS[kind])]


# ---- the same graph?


def difference(found: NodeGraph, truth: Truth) -> str:
    """Return in what two graphs differ; empty where they are the same up to the names."""
    if found.num_nodes != truth.nodes:
        return f"{found.num_nodes} nodes, not {truth.nodes}"
    rows = np.repeat(np.arange(truth.nodes), np.diff(found.adjacency.indptr))
    edges = set(zip(found.adjacency.indices.tolist(), rows.tolist(), strict=True))
    if edges != set(truth.ends):
        more, less = edges - set(truth.ends), set(truth.ends) - edges
        return f"edges: {len(more)} too many, {len(less)} too few"
    return _features(found, truth) or _labels(found, truth) or _names(found, truth)


def _features(found: NodeGraph, truth: Truth) -> str:
    x = found.features
    if isinstance(x, CSR):
        data = np.ones(x.nnz, np.float32) if x.data is None else x.data
        x = sp.csr_matrix((data, x.indices, x.indptr), shape=x.shape).toarray()
    if x.shape != truth.x.shape:
        return f"features: {x.shape[1]} ({', '.join(found.feature_names)}), not {truth.x.shape[1]}"
    order = list(range(x.shape[1]))
    if truth.features:
        if set(found.feature_names) != set(truth.features):
            return f"features are called {found.feature_names}, not {truth.features}"
        order = [found.feature_names.index(name) for name in truth.features]
    if not np.array_equal(x[:, order], truth.x):
        return "features have other values"
    return ""


def _labels(found: NodeGraph, truth: Truth) -> str:
    names = [None if label < 0 else found.class_names[label] for label in found.labels.tolist()]
    if truth.exact and names != truth.labels:
        return f"classes are called {sorted(found.class_names)}"
    pairs = set(zip(names, truth.labels, strict=True))
    one_to_one = len(pairs) == len(dict(pairs)) == len({label for _, label in pairs})
    if not one_to_one or any((a is None) != (b is None) for a, b in pairs):
        return f"classes: {sorted(map(str, pairs))[:6]}"
    return ""


def _names(found: NodeGraph, truth: Truth) -> str:
    given = found.given
    rows = [str(i) for i in range(truth.nodes)]
    names = rows if given.node_id is None else given.node_id.tolist()
    meant = rows if truth.ids is None else [id_text(name) for name in truth.ids]
    if names != meant and [name.removesuffix(".0") for name in meant] != names:
        return f"nodes are called {names[:3]}, not {meant[:3]}"
    part = None if given.part is None else given.part.tolist()
    if part != truth.part:
        return "the split is another one"
    return ""


@dataclass(frozen=True)
class Outcome:
    """How one draw ended: `read`, `refused` or `wrong`, and why."""

    seed: int
    kind: str
    end: str
    why: str = ""


def unguarded(function: str, path: Path, hint: str = "", libraries: str = "") -> Any:
    """Call what a guarded process would call, here: these files are sound, and a process of its own
    for each takes a hundred times as long.
    """
    module, name = function.split(":")
    return getattr(importlib.import_module(f"taamctl.importing.{module}"), name)(path)


def tried(seed: int, kinds: list[str], folder: Path) -> Outcome:
    """Draw a graph and its files into a folder, and read them."""
    rng = np.random.default_rng([seed, 20])
    weights = np.array([KINDS[kind][0] for kind in kinds], float)
    kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
    drawn = KINDS[kind][1](rng, folder)
    try:
        options = ImportOptions(**drawn.options)
        with mock.patch.object(guarded, "call", unguarded):
            found = importers.read("drawn", drawn.paths, options, kind=drawn.format)
    except TaamctlError as error:
        return Outcome(seed, kind, "refused", shortened(error.message, folder))
    except Exception:
        return Outcome(seed, kind, "wrong", traceback.format_exc(limit=-2))
    why = difference(found, drawn.truth)
    return Outcome(seed, kind, "wrong" if why else "read", why)


def shortened(message: str, folder: Path) -> str:
    """Return a refusal without what differs from draw to draw."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "_", message.replace(f"{folder}/", ""))
    return re.sub(r"\([^)]*\)", "()", re.sub(r"[0-9][0-9,.]*", "0", text))[:150]


def work(seed: int) -> Outcome:
    """Try one seed in a folder of its own."""
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        return tried(seed, possible(), Path(folder))


def report(outcomes: list[Outcome]) -> None:
    """Print the figures."""
    print(f"{'kind':<10}{'draws':>8}{'read':>8}{'refused':>9}{'wrong':>7}")
    of_kind = Counter((o.kind, o.end) for o in outcomes)
    for kind in (*KINDS, "all"):
        counts = [
            sum(c for (k, e), c in of_kind.items() if e == end and kind in (k, "all"))
            for end in ("read", "refused", "wrong")
        ]
        if sum(counts):
            print(f"{kind:<10}{sum(counts):>8}{counts[0]:>8}{counts[1]:>9}{counts[2]:>7}")
    print("\nrefused, by reason:")
    refused = [o for o in outcomes if o.end == "refused"]
    example = {(o.kind, o.why): o.seed for o in refused}
    for (kind, why), count in Counter((o.kind, o.why) for o in refused).most_common(40):
        print(f"{count:>6}  {kind}: {why} (such as --only {example[kind, why]})")
    wrong = [o for o in outcomes if o.end == "wrong"]
    print(f"\nwrong: {len(wrong)}")
    for o in wrong[:40]:
        print(f"  --only {o.seed}  {o.kind}: {o.why}")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", type=int, help="one seed; its files are kept")
    asked = parser.parse_args()
    if asked.only is not None:
        folder = Path(tempfile.mkdtemp(prefix="own-graph-"))
        print(tried(asked.only, possible(), folder), sorted(folder.iterdir()), sep="\n")
        return 0
    seeds = range(asked.seed, asked.seed + asked.draws)
    outcomes = []
    with multiprocessing.get_context("spawn").Pool(asked.processes) as pool:
        for outcome in pool.imap_unordered(work, seeds, chunksize=10):
            outcomes.append(outcome)
            if len(outcomes) % 100 == 0:
                wrong = sum(o.end == "wrong" for o in outcomes)
                print(
                    f"\r{len(outcomes):,} of {asked.draws:,}, {wrong} wrong",
                    end="",
                    file=sys.stderr,
                )
    print(file=sys.stderr)
    report(sorted(outcomes, key=lambda o: o.seed))
    return int(any(o.end == "wrong" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
