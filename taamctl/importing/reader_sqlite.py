"""A data base of SQLite that holds a table of nodes and one of edges."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import base_tables, reader_tables
from taamctl.importing.arrays import only
from taamctl.importing.held_table import HeldTable
from taamctl.importing.options import ImportOptions
from taamctl.importing.python_values import column_of, joined
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import opened

MAGIC = b"SQLite format 3\0"
AT_ONCE = 50_000  # rows
LEAST = 4  # bytes of a row in the file
_TABLES = """
SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT GLOB 'sqlite_*' AND sql NOT LIKE 'CREATE VIRTUAL%'
ORDER BY name
"""


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the two tables say; nothing is written, and nothing else is opened.

    Args:
        options: `table` names the tables where their names and columns do not tell.

    Raises:
        TaamctlError: no data base, a damaged one, or no telling which tables are meant.
    """
    path = only(paths, "a data base of SQLite")
    with _connected(path) as base:
        names = [name for (name,) in base.execute(_TABLES)]
        tables = {name: _columns(base, name) for name in names}
        chosen = base_tables.chosen(tables, options, str(path))
        nodes, edges = (_table(base, path, name, tables[name]) for name in chosen)
    return reader_tables.of_two(nodes, edges, replace(options, table=chosen.options()))


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a data base for reading alone."""
    with opened(path) as stream:
        first = stream.read(100)
    if not first.startswith(MAGIC):
        raise TaamctlError(
            f"{path} is no data base of SQLite, or a compressed one",
            "unpack it first; --format names another format",
        )
    log = path.with_name(f"{path.name}-wal")
    changes = log.is_file() and log.stat().st_size > 0
    # immutable: without it SQLite may write a log beside the file; with it, it reads none
    mode = ("immutable=1", "mode=ro")[changes]
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as base:
            for rule in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                base.execute(f"PRAGMA {rule}")
            yield base
    except (sqlite3.Error, OverflowError) as error:
        raise TaamctlError(
            f"{path} cannot be read: {' '.join(str(error).split())[:200]}",
            "the data base is damaged, or in use; sqlite3 FILE 'PRAGMA integrity_check' tells more",
        ) from error


def _columns(base: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in base.execute(f"PRAGMA table_info({_quoted(table)})")]


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _table(base: sqlite3.Connection, path: Path, name: str, names: Sequence[str]) -> HeldTable:
    """Return a table with its rows in the order that they lie in."""
    where = f"{path}: {name}"
    listed = ", ".join(map(_quoted, names))
    cursor = base.execute(f"SELECT {listed} FROM {_quoted(name)}")
    chunks: list[list[Array]] = [[] for _ in names]
    rows, most = 0, path.stat().st_size // LEAST
    while found := cursor.fetchmany(AT_ONCE):
        rows += len(found)
        if rows > most:  # pages that lead to each other would yield rows without end
            raise TaamctlError(
                f"{where} yields more rows than the file has room for",
                "the data base is damaged; sqlite3 FILE .recover saves what there is",
            )
        for column, values in zip(chunks, zip(*found, strict=True), strict=True):
            column.append(column_of(values))
    if not rows:
        raise TaamctlError(f"{where} has no row", "name another with --table")
    columns = {key: joined(column) for key, column in zip(names, chunks, strict=True)}
    return HeldTable(where, name, columns)
