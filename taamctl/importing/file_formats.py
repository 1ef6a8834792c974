"""The formats that a graph of a user's is read from, and which of them some files have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from taamctl.core.errors import TaamctlError
from taamctl.graph.dgl_adapter import MAGIC as DGL_MAGIC
from taamctl.importing import arrow_tables, folder_format, reader_duckdb, reader_sqlite
from taamctl.importing.foreign_files import refuse_foreign
from taamctl.importing.held_table import unzipped_suffix
from taamctl.importing.table_folder import TEXT
from taamctl.importing.tables import opened


class Format(NamedTuple):
    """A format: the module that has `read(paths, options) -> RawGraph`, the suffixes of its files,
    and what they are.
    """

    module: str
    suffixes: tuple[str, ...]
    what: str


FORMATS = {
    "table": Format(
        "reader_tables",
        (*TEXT, *arrow_tables.TYPED),
        "a node table and an edge list, as CSV, TSV, Parquet or Arrow",
    ),
    "npz": Format("reader_npz", (".npz",), "NumPy arrays: gnn-benchmark keys, or x, edge_index, y"),
    "mtx": Format(
        "reader_mtx",
        (".mtx", ".mm"),
        "Matrix Market: edges, and a node table or a matrix of features with labels",
    ),
    "svmlight": Format(
        "reader_svmlight",
        (".svm", ".svmlight", ".libsvm"),
        "svmlight or libsvm: labels and features, and an edge list",
    ),
    "graphml": Format("reader_graphml", (".graphml",), "GraphML, node attributes as features"),
    "json": Format(
        "reader_json", (".json",), "node-link JSON, as networkx, d3 and Cytoscape write it"
    ),
    "musae": Format(
        "reader_musae", (), "MUSAE: features as JSON, an edge list and a table of targets"
    ),
    "gexf": Format("reader_gexf", (".gexf",), "GEXF, as Gephi writes it; read by networkx"),
    "gml": Format("reader_gml", (".gml",), "GML; read by networkx"),
    "pajek": Format("reader_pajek", (".net", ".paj"), "Pajek; read by networkx"),
    "mat": Format("reader_mat", (".mat",), "MATLAB up to version 7: Network, Attributes, Label"),
    "dgl": Format("reader_dgl", (".bin", ".dgl"), "one graph that dgl.save_graphs wrote"),
    "pyg": Format(
        "reader_pyg",
        (".pt", ".pth"),
        "Data, TemporalData or a dict of tensors that torch.save wrote",
    ),
    "ogb": Format("reader_ogb", (), "a folder called raw, as OGB writes it"),
    "planetoid": Format("reader_planetoid", (), "the files ind.NAME.x, ... of Planetoid"),
    "h5ad": Format("reader_h5ad", (".h5ad",), "AnnData: X, labels in obs, edges in obsp"),
    "sqlite": Format(
        "reader_sqlite",
        (".sqlite", ".sqlite3", ".db3"),
        "a data base of SQLite with a table of nodes and one of edges",
    ),
    "duckdb": Format(
        "reader_duckdb",
        (".duckdb", ".ddb"),
        "a data base of DuckDB with a table of nodes and one of edges",
    ),
}
_MAGIC = (
    ("mtx", b"%%MatrixMarket"),
    ("mtx", b"%MatrixMarket"),
    ("graphml", b"<?xml"),
    ("graphml", b"<graphml"),
    ("dgl", DGL_MAGIC),
    ("sqlite", reader_sqlite.MAGIC),
)


def guess_format(paths: Sequence[Path]) -> str:
    """Return the format of the files: by a folder, else by the most telling suffix, else by the
    first bytes.

    Raises:
        TaamctlError: neither tells.
    """
    if any(path.is_dir() for path in paths):
        return folder_format.of_folders(paths)
    refuse_all(paths)
    kind = folder_format.of_names(paths) or _by_suffix(paths) or _by_first_bytes(paths[0])
    if kind:
        return kind
    raise TaamctlError(
        f"{paths[0]}: its name does not tell its format",
        "name it with --format: " + ", ".join(FORMATS),
    )


def refuse_all(paths: Sequence[Path], kind: str = "") -> None:
    """Refuse files that hold no graph in any format.

    Args:
        kind: the format that the user states; empty: told from the names.
    """
    kind = kind or folder_format.of_names(paths)
    for path in paths:
        if not path.is_dir():
            refuse_foreign(path, kind or _by_suffix([path]))


def _by_suffix(paths: Sequence[Path]) -> str:
    """Return the format that a suffix tells, the most telling first; empty where none does."""
    suffixes = {unzipped_suffix(path) for path in paths}
    between = [kind for kind in FORMATS if kind not in ("mtx", "table")]
    for kind in ("mtx", *between, "table"):
        if suffixes & set(FORMATS[kind].suffixes):
            return kind
    return ""


def _by_first_bytes(path: Path) -> str:
    with opened(path) as stream:
        first = stream.read(4096)
    if first[8:12] == reader_duckdb.MAGIC:
        return "duckdb"
    for kind, begins in _MAGIC:
        if first.lstrip(b"\xef\xbb\xbf \r\n").startswith(begins):
            return kind
    if first.startswith(b"PK"):
        return "pyg" if b"data.pkl" in first else "npz"
    return ""
