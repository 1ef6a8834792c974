"""A graph from the files that a user has: which format they are in, which reader takes them, and
what else is said about the nodes.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.dgl_adapter import MAGIC as DGL_MAGIC
from taamctl.importing import column_names, stated_stream
from taamctl.importing.assembly import assemble
from taamctl.importing.bad_rows import lines_in, told_by_lines
from taamctl.importing.foreign_files import refuse_foreign
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import opened, read_table

# format -> (module, suffixes, what it is); every module has read(paths, options) -> RawGraph
FORMATS = {
    "table": (
        "reader_tables",
        (
            ".csv",
            ".tsv",
            ".tab",
            ".txt",
            ".edges",
            ".edgelist",
            ".content",
            ".cites",
            ".parquet",
            ".pq",
        ),
        "a node table and an edge list, as CSV, TSV or Parquet",
    ),
    "npz": ("reader_npz", (".npz",), "NumPy arrays: gnn-benchmark keys, or x, edge_index, y"),
    "mtx": (
        "reader_mtx",
        (".mtx", ".mm"),
        "Matrix Market: edges, and a node table or a matrix of features with labels",
    ),
    "graphml": ("reader_graphml", (".graphml",), "GraphML, node attributes as features"),
    "json": ("reader_json", (".json",), "node-link JSON, as networkx, d3 and Cytoscape write it"),
    "gexf": ("reader_gexf", (".gexf",), "GEXF, as Gephi writes it; read by networkx"),
    "gml": ("reader_gml", (".gml",), "GML; read by networkx"),
    "pajek": ("reader_pajek", (".net", ".paj"), "Pajek; read by networkx"),
    "mat": ("reader_mat", (".mat",), "MATLAB up to version 7: Network, Attributes, Label"),
    "dgl": ("reader_dgl", (".bin", ".dgl"), "one graph that dgl.save_graphs wrote"),
    "pyg": (
        "reader_pyg",
        (".pt", ".pth"),
        "Data, TemporalData or a dict of tensors that torch.save wrote",
    ),
    "ogb": ("reader_ogb", (), "a folder called raw, as OGB writes it"),
}
MAGIC = (
    ("mtx", b"%%MatrixMarket"),
    ("mtx", b"%MatrixMarket"),
    ("graphml", b"<?xml"),
    ("graphml", b"<graphml"),
    ("dgl", DGL_MAGIC),
)


def guess_format(paths: Sequence[Path]) -> str:
    """Return the format of the files: by a folder, else by the most telling suffix, else by the
    first bytes.

    Raises:
        TaamctlError: neither tells.
    """
    if len(paths) == 1 and paths[0].is_dir():
        return "ogb"
    _refuse_all(paths)
    kind = _by_suffix(paths) or _by_first_bytes(paths[0])
    if kind:
        return kind
    raise TaamctlError(
        f"{paths[0]}: its name does not tell its format",
        "name it with --format: " + ", ".join(FORMATS),
    )


def _refuse_all(paths: Sequence[Path], kind: str = "") -> None:
    """Refuse files that hold no graph in any format."""
    for path in paths:
        if not path.is_dir():
            refuse_foreign(path, kind or _by_suffix([path]))


def _by_suffix(paths: Sequence[Path]) -> str:
    """Return the format that a suffix tells, the most telling first; empty where none does."""
    suffixes = set()
    for path in paths:
        if path.suffix.lower() == ".gz":
            path = path.with_suffix("")
        suffixes.add(path.suffix.lower())
    between = [kind for kind in FORMATS if kind not in ("mtx", "table")]
    for kind in ("mtx", *between, "table"):
        if suffixes & set(FORMATS[kind][1]):
            return kind
    return ""


def _by_first_bytes(path: Path) -> str:
    with opened(path) as stream:
        first = stream.read(4096)
    for kind, begins in MAGIC:
        if first.lstrip(b"\xef\xbb\xbf \r\n").startswith(begins):
            return kind
    if first.startswith(b"PK"):
        return "pyg" if b"data.pkl" in first else "npz"
    return ""


def read(
    name: str,
    paths: Sequence[Path],
    options: ImportOptions | None = None,
    *,
    kind: str = "",
    tasks: Path | None = None,
    split: Path | None = None,
) -> NodeGraph:
    """Return the graph in a user's files, called `name`: nodes in the file's order, edges as
    stored, `given` as far as the files state it. For the rest see `read_raw`.
    """
    return assemble(name, read_raw(paths, options, kind=kind, tasks=tasks, split=split), options)


def read_raw(
    paths: Sequence[Path],
    options: ImportOptions | None = None,
    *,
    kind: str = "",
    tasks: Path | None = None,
    split: Path | None = None,
) -> RawGraph:
    """Return what a user's files say, unchecked.

    Args:
        paths: the files, such as a node table and an edge list in any order; or one folder.
        options: which column, attribute or key means what; None: guessed.
        kind: one of `FORMATS`; empty: guessed.
        tasks: a table of classes and the tasks that they arrive with.
        split: a table of node ids and their parts.

    Raises:
        TaamctlError: missing, damaged or contradicting files; names the file, and where it can the
            row and the value.
    """
    if not paths:
        raise TaamctlError(
            "no file to import is named",
            "name a node table and an edge list, or one file that holds both",
        )
    if kind and kind not in FORMATS:
        raise TaamctlError(
            f"--format {kind}: there is no such format", "there are: " + ", ".join(FORMATS)
        )
    options = options or ImportOptions()
    _refuse_all(paths, kind)
    kind = kind or guess_format(paths)
    reader = importlib.import_module(f"taamctl.importing.{FORMATS[kind][0]}")
    raw: RawGraph = reader.read(paths, options)
    if options.ends:
        _require_ends(options.ends, raw, FORMATS[kind][2])
    if tasks is not None:
        raw = _with_tasks(raw, tasks, options)
    if split is not None:
        raw = _with_parts(raw, split, options)
    files = [p for p in (*paths, tasks, split) if p is not None]
    return replace(raw, notes=tuple(by_name(note, files) for note in raw.notes))


def _require_ends(ends: str, raw: RawGraph, what: str) -> None:
    """Refuse `--ends` where edges do not end so."""
    if ends == "rows" and raw.by_row:
        return
    if ends == "ids" and not raw.by_row:
        if raw.node_id is not None:
            return
        raise TaamctlError(
            f"--ends ids: edges in {what} do not end so without ids",
            "name what holds the ids with --id, or leave it out",
        )
    raise TaamctlError(f"--ends {ends}: edges in {what} do not end so", "leave it out")


def _with_tasks(raw: RawGraph, path: Path, options: ImportOptions) -> RawGraph:
    """Return the graph with the tasks of a table of classes."""
    words = (column_names.LABEL, column_names.TASK)
    table = read_table(path, options.delimiter, lambda cells: headed(cells, words))
    with told_by_lines(lines_in(table, options.delimiter)):
        of = stated_stream.tasks_of_table(table)
    notes = raw.notes
    if raw.tasks is not None:
        notes = (*notes, f"{path}: tasks of the classes, instead of those that the nodes state")
    return replace(raw, tasks=of, tasks_where=str(path), notes=notes)


def _with_parts(raw: RawGraph, path: Path, options: ImportOptions) -> RawGraph:
    """Return the graph with the parts of a table of nodes."""
    words = (column_names.ID, column_names.PART)
    table = read_table(path, options.delimiter, lambda cells: headed(cells, words))
    with told_by_lines(lines_in(table, options.delimiter)):
        part = stated_stream.parts_of_table(table, raw.node_id, np.shape(raw.features)[0])
    notes = raw.notes
    if raw.part is not None:
        notes = (*notes, f"{path}: parts of the nodes, instead of those that the nodes state")
    return replace(raw, part=part, notes=notes)


def by_name(note: str, paths: Sequence[Path]) -> str:
    """Return a note without the folders that the files happen to lie in: notes are kept with the
    graph.
    """
    for path in paths:
        note = note.replace(str(path), path.name)
    return note


def headed(cells: list[str], words: Sequence[Sequence[str]]) -> bool:
    """Tell whether the cells of a first row are names of columns: one of them is one of the
    usual.
    """
    return any(column_names.guess(cells, w) for w in words)
