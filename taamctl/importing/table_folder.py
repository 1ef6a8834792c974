"""A folder that holds a table of nodes and one of edges, each a file or a folder of parts."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.importing.arrow_tables import TYPED, is_typed
from taamctl.importing.held_table import unzipped_suffix

TEXT = (".csv", ".tsv", ".tab", ".txt", ".edges", ".edgelist", ".content", ".cites")
NAMES = ("nodes", "edges")


def tables_in(folder: Path) -> list[Path]:
    """Return the tables of nodes and of edges: those that are called so, else the only two.

    Raises:
        TaamctlError: there are no such two.
    """
    found = tables_of(folder)
    if len(found) != 2:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise TaamctlError(
            f"{folder} holds no table of nodes and no table of edges that is called so; it holds "
            f"{there}",
            "call them nodes.parquet and edges.parquet (or .arrow, .csv), or name the two files",
        )
    return found


def tables_of(folder: Path) -> list[Path]:
    """Return the tables in a folder: those called nodes and edges, else all."""
    found = [path for path in sorted(folder.iterdir()) if _is_table(path)]
    called = [path for name in NAMES for path in found if _stem(path) == name]
    return called if len(called) == 2 else found


def _stem(path: Path) -> str:
    return path.name.partition(".")[0].lower()


def _is_table(path: Path) -> bool:
    if path.name[0] in "._":
        return False
    if path.is_dir():
        return is_typed(path)
    return unzipped_suffix(path) in (*TYPED, *TEXT)
