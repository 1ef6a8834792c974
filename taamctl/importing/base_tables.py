"""Which tables of a data base hold the nodes and the edges: by option, else by their columns and
names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from taamctl.core.errors import TaamctlError
from taamctl.importing import roles
from taamctl.importing.messages import quoted, shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.reader_tables import EDGES
from taamctl.importing.ways import Unclear

ROLES = ("nodes", "edges")
SHOWN = 8  # tables that a message names
_NODES = re.compile(r"node|vert", re.IGNORECASE)


class Chosen(NamedTuple):
    """The names of the two tables."""

    nodes: str
    edges: str

    def options(self) -> tuple[str, ...]:
        """Return what `--table` takes to name them."""
        return (f"nodes={self.nodes}", f"edges={self.edges}")


def chosen(tables: Mapping[str, Sequence[str]], options: ImportOptions, where: str) -> Chosen:
    """Return the tables of nodes and of edges.

    Args:
        tables: name -> its columns.
        options: `table` names one or both, `source` and `target` the columns of the ends.

    Raises:
        TaamctlError: no such table, or no telling.
    """
    stated = _stated(options.table, tables, where)
    edges = stated.get("edges") or _edges(_without(tables, stated), options)
    rest = _without(tables, {**stated, "edges": edges})
    nodes = stated.get("nodes") or _best(list(rest), _NODES)
    if edges and nodes:
        return Chosen(nodes, edges)
    raise _unclear(list(tables), nodes, edges, where)


def _edges(tables: Mapping[str, Sequence[str]], options: ImportOptions) -> str:
    """Return the table of which two columns are called like the ends of an edge, or that is called
    like one of edges.
    """
    like = [name for name, columns in tables.items() if roles.edge_ends(columns, options)]
    return _best(like or [name for name, columns in tables.items() if len(columns) > 1], EDGES)


def _best(names: Sequence[str], pattern: re.Pattern[str]) -> str:
    """Return the only name, or the only one that is like the pattern; empty where there is none."""
    if len(names) == 1:
        return names[0]
    like = [name for name in names if pattern.search(name)]
    return like[0] if len(like) == 1 else ""


def _stated(
    words: Sequence[str], tables: Mapping[str, Sequence[str]], where: str
) -> dict[str, str]:
    """Return role -> table as the user says."""
    found: dict[str, str] = {}
    for word in words:
        role, _, name = word.partition("=")
        if role not in ROLES or not name:
            raise TaamctlError(
                f"--table {shown(word)}: expected nodes=NAME or edges=NAME",
                f"the tables of {where}: {_listed(list(tables))}",
            )
        if name not in tables:
            raise TaamctlError(
                f"{where}: --table {shown(word)}: there is no such table",
                f"there are: {_listed(list(tables))}",
            )
        found[role] = name
    return found


def _without(
    tables: Mapping[str, Sequence[str]], stated: Mapping[str, str]
) -> dict[str, Sequence[str]]:
    return {name: columns for name, columns in tables.items() if name not in stated.values()}


def _unclear(tables: Sequence[str], nodes: str, edges: str, where: str) -> TaamctlError:
    """Return the question which tables are meant."""
    if len(tables) < 2:
        return TaamctlError(
            f"{where} holds {_listed(tables) or 'no table'}, expected a table of nodes and one of "
            "edges",
            "make both tables: nodes (id, label, features) and edges (source, target)",
        )
    lacks = " and ".join(what for what, name in (("nodes", nodes), ("edges", edges)) if not name)
    first = [name for name in tables if name not in (nodes, edges)]
    first += list(tables)
    way = f"--table {quoted(f'nodes={nodes or first[0]}')} "
    way += f"--table {quoted(f'edges={edges or first[1]}')}"
    return Unclear(
        f"{where}: no telling which table holds the {lacks}; there are: {_listed(tables)}",
        f"name both, such as {way}",
        (way,),
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name) for name in names[:SHOWN]) + ", ..." * (len(names) > SHOWN)
