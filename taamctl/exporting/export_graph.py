"""Give a graph back as files of another format, with the command that reads them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.exporting.whole import Plan, whole_of
from taamctl.importing import command_line
from taamctl.store.atomic_files import atomic

# format -> (module, what it is); every module has plan(whole) -> Plan
FORMATS = {
    "graphml": ("writer_graphml", "GraphML"),
    "csv": ("writer_csv", "a table of nodes and one of edges, as text"),
    "parquet": ("writer_parquet", "the same tables as Parquet"),
    "npz": ("writer_npz", "NumPy arrays"),
    "pyg": ("writer_pyg", "a dict of tensors, for PyTorch Geometric"),
    "dgl": ("writer_dgl", "what dgl.save_graphs writes"),
    "h5ad": ("writer_h5ad", "AnnData: features in X, edges in obsp"),
}
READ_AS = {"csv": "table", "parquet": "table"}  # what the import calls it, where that differs
DENSE = ("csv", "parquet", "graphml", "dgl")


class Exported(NamedTuple):
    """The files that were written, what they do not hold, and the command that reads them."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]
    command: str


def export(
    graph: NodeGraph,
    kind: str,
    out: Path | None = None,
    *,
    about: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> Exported:
    """Write a graph in one format, every file whole or not at all.

    Args:
        kind: one of `FORMATS`.
        out: a file, or a folder that is there; None: in the working folder, by the graph's name.
            Several files have the same beginning.
        about: what else the import is to be told: `directed`, `licence`, `citation`, `homepage`.
        overwrite: replace files that are there.

    Raises:
        TaamctlError: no such format, a file that is there, or what the format cannot hold.
    """
    if kind not in FORMATS:
        raise TaamctlError(
            f"--format {kind}: no such format to write", f"there are: {', '.join(FORMATS)}"
        )
    whole = whole_of(graph)
    plan: Plan = importlib.import_module(f"taamctl.exporting.{FORMATS[kind][0]}").plan(whole)
    paths = _paths(graph.name, plan, out)
    _require_free(list(paths.values()), overwrite)
    with ExitStack() as stack:
        for end, write in plan.files.items():
            write(stack.enter_context(atomic(paths[end])))
    sources = [str(path) for end, path in paths.items() if end not in plan.tables.values()]
    further: dict[str, object] = {"name": _free_name(graph.name), "format": READ_AS.get(kind, kind)}
    further |= {option: str(paths[end]) for option, end in plan.tables.items()}
    command = command_line.command(sources, plan.options, {**further, **(about or {})})
    notes = [*whole.notes, *plan.notes]
    if isinstance(graph.features, CSR) and kind in DENSE:
        notes.append(
            "features are stored sparse here; read back, they are dense, with equal values"
        )
    return Exported(tuple(paths.values()), tuple(notes), command)


def _paths(name: str, plan: Plan, out: Path | None) -> dict[str, Path]:
    """Return the end of each file's name -> its path."""
    base = out or Path(name)
    if out is not None and out.is_dir():
        base = base / name
    first = next(iter(plan.files))
    if not first.startswith("_"):  # one file, besides tables
        main = base if base.suffix else base.with_name(base.name + first)
        rest = {end: main.with_name(main.stem + end) for end in plan.files}
        return {**rest, first: main}
    ends = {Path(end).suffix for end in plan.files}
    stem = base.stem if base.suffix in ends else base.name
    return {end: base.with_name(stem + end) for end in plan.files}


def _require_free(paths: list[Path], overwrite: bool) -> None:
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise TaamctlError(
            f"{there[0]} is there already", "name another file with --out, or replace it: --force"
        )
    folder = next((path for path in there if path.is_dir()), None)
    if folder is not None:
        raise TaamctlError(f"{folder} is a folder", "name another file with --out")


def _free_name(name: str) -> str:
    """Return a name for the graph when it is read back, that no data set has."""
    made = f"{name}_copy"
    while made in registry.names("taamctl.datasets"):
        made += "_copy"
    return made
