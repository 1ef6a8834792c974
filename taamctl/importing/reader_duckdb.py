"""A data base of DuckDB that holds a table of nodes and one of edges."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.importing import base_tables, reader_tables
from taamctl.importing.arrays import only
from taamctl.importing.held_table import HeldTable
from taamctl.importing.options import ImportOptions
from taamctl.importing.python_values import column_of
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.table_room import require_room
from taamctl.importing.tables import opened

MAGIC = b"DUCK"  # from byte 8 on, after a checksum
# a view or a column with a default could name any file: no file but this one is opened
SHUT = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main'"


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the two tables say; nothing is written, and nothing else is opened.

    Args:
        options: `table` names the tables where their names and columns do not tell.

    Raises:
        TaamctlError: duckdb is missing; no data base, a damaged one or one of another version, or
            no telling which tables are meant.
    """
    path = only(paths, "a data base of DuckDB")
    with _connected(path) as base:
        names = [name for (name,) in base.execute(f"{_TABLES} ORDER BY 1").fetchall()]
        tables = {name: _columns(base, name) for name in names}
        chosen = base_tables.chosen(tables, options, str(path))
        nodes, edges = (_table(base, path, name, tables[name]) for name in chosen)
    return reader_tables.of_two(nodes, edges, replace(options, table=chosen.options()))


@contextmanager
def _connected(path: Path) -> Iterator[Plain]:
    """Open a data base for reading alone."""
    with opened(path) as stream:
        if stream.read(12)[8:] != MAGIC:
            raise TaamctlError(
                f"{path} is no data base of DuckDB, or a compressed one",
                "unpack it first; --format names another format",
            )
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError as error:
        raise TaamctlError(
            f"reading {path} needs the package duckdb, which is missing",
            "pip install 'taamctl[duckdb]', or write the tables as CSV or Parquet",
        ) from error
    try:
        with closing(duckdb.connect(str(path.resolve()), read_only=True, config=SHUT)) as base:
            yield base
    except duckdb.Error as error:
        raise TaamctlError(
            f"{path} cannot be read: {' '.join(str(error).split())[:200]}",
            "the data base is damaged, in use, or of a newer DuckDB: pip install -U duckdb",
        ) from error


def _columns(base: Plain, table: str) -> list[str]:
    asked = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main'"
    return [name for (name,) in base.execute(f"{asked} ORDER BY column_index", [table]).fetchall()]


def _table(base: Plain, path: Path, name: str, names: Sequence[str]) -> HeldTable:
    """Return a table with its rows in the order that they were added."""
    where = f"{path}: {name}"
    doubled = name.replace('"', '""')
    (rows,) = base.execute(f'SELECT count(*) FROM "{doubled}"').fetchone()
    require_room(rows, len(names), where)
    if not rows:
        raise TaamctlError(f"{where} has no row", "name another with --table")
    found = base.execute(f'SELECT * FROM "{doubled}"').fetchnumpy()
    return HeldTable(where, name, {key: _array(found[key]) for key in names})


def _array(values: Plain) -> Array:
    """Return a column as numbers or objects; lists of equal length become rows of a matrix."""
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.getmaskarray(values).any():
            return _array(np.asarray(values))
        if values.dtype.kind == "f":
            return np.asarray(values.filled(np.nan))
        return column_of(values.tolist())
    array = np.asarray(values)  # a column of an enumeration comes as pandas keeps it
    lists = array.dtype == object and all(isinstance(v, (list, np.ndarray)) for v in array)
    if lists and len({len(v) for v in array}) == 1:
        return np.array([list(v) for v in array])
    return array
