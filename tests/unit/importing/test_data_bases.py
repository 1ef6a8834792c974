"""A table of nodes and one of edges in a data base of SQLite or DuckDB."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions
from taamctl.importing.ways import Unclear

NODES = ("CREATE TABLE papers (id {text}, kind {text}, p DOUBLE)", "INSERT INTO papers VALUES ")
ROWS = "('a', 'x', 1.5), ('b', 'y', 0.25), ('c', 'x', 3)"
EDGES = ("CREATE TABLE {name} (source {text}, target {text})", "INSERT INTO {name} VALUES ")
PAIRS = "('a', 'b'), ('b', 'c')"
KIND = ImportOptions(label="kind")


def made(path: Path, kind: str, *further: str, edges: str = "cites") -> Path:
    """Write a data base of three nodes and two edges."""
    lines = [NODES[0].format(text="VARCHAR"), NODES[1] + ROWS]
    lines += [line.format(text="VARCHAR", name=edges) for line in EDGES]
    lines[-1] += PAIRS
    if kind == "duckdb":
        base: Any = pytest.importorskip("duckdb").connect(str(path))
    else:
        base = sqlite3.connect(path)
    for line in (*lines, *further):
        base.execute(line)
    base.commit()
    base.close()
    return path


def check(graph: NodeGraph) -> None:
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["a", "b", "c"]
    assert (graph.class_names, graph.labels.tolist()) == (("x", "y"), [0, 1, 0])
    assert (graph.feature_names, graph.adjacency.nnz) == (("p",), 2)
    assert np.asarray(graph.features)[:, 0].tolist() == [1.5, 0.25, 3.0]


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize("name", ["g.{}", "g.db", "my data?#%.db"])
def test_two_tables_whatever_the_file_is_called(tmp_path: Path, kind: str, name: str) -> None:
    name = name.format(kind).replace("?", "?"[: kind == "sqlite"])  # DuckDB takes ? for an option
    path = made(tmp_path / name, kind)
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    check(importers.read("g", [path], KIND))
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_of_more_tables_those_that_are_called_so_or_named(tmp_path: Path, kind: str) -> None:
    log = "CREATE TABLE log (line VARCHAR)"
    path = made(tmp_path / "g.db", kind, log)
    with pytest.raises(Unclear, match="no telling which table holds the nodes; there are: cites"):
        importers.read("g", [path], KIND)
    named = ("nodes=papers", "edges=cites")
    check(importers.read("g", [path], ImportOptions(label="kind", table=named[:1])))
    raw = importers.read_raw([path], ImportOptions(label="kind", table=named))
    assert raw.taken is not None and raw.taken.table == named
    rename = "ALTER TABLE papers RENAME TO the_nodes"
    check(importers.read("g", [made(tmp_path / "h.db", kind, log, rename)], KIND))
    for wrong, message in (("nodes=x", "no such table"), ("papers", "expected nodes=NAME")):
        with pytest.raises(TaamctlError, match=message):
            importers.read("g", [path], ImportOptions(table=(wrong,)))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_names_that_need_quotes_and_cells_without_a_value(tmp_path: Path, kind: str) -> None:
    odd = 'a "b" c; DROP TABLE papers'
    quoted = '"a ""b"" c; DROP TABLE papers"'
    more = (
        f"ALTER TABLE papers ADD COLUMN {quoted} BIGINT",
        f"UPDATE papers SET {quoted} = 7 WHERE id <> 'b'",
        "INSERT INTO papers VALUES ('d', NULL, NULL, NULL)",
        f"ALTER TABLE papers RENAME TO {quoted}",
    )
    path = made(tmp_path / "g.db", kind, *more)
    graph = importers.read("g", [path], ImportOptions(label="kind", nan="zero"))
    assert graph.feature_names == ("p", odd)
    assert np.asarray(graph.features)[:, 1].tolist() == [7, 0, 7, 0]
    assert graph.labels.tolist() == [0, 1, 0, -1]


def test_large_ids_keep_every_digit_beside_an_empty_cell(tmp_path: Path) -> None:
    path, big = tmp_path / "g.db", (1 << 60) + 1
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE nodes (id, label, p)")
        base.executemany("INSERT INTO nodes VALUES (?, 'x', 1)", [(big + i,) for i in range(3)])
        base.execute("CREATE TABLE edges (source, target)")
        base.execute("INSERT INTO edges VALUES (?, ?)", (big, big + 2))
    graph = importers.read("g", [path])
    assert graph.given.node_id is not None
    assert graph.given.node_id.tolist() == [str(big + i) for i in range(3)]
    with sqlite3.connect(path) as base:
        base.execute("INSERT INTO edges VALUES (?, NULL)", (big,))
    with pytest.raises(TaamctlError, match="an end is missing"):
        importers.read("g", [path])


def test_changes_in_the_log_beside_a_data_base_of_sqlite_count(tmp_path: Path) -> None:
    path = made(tmp_path / "g.db", "sqlite")
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("PRAGMA wal_autocheckpoint = 0")
    base.execute("INSERT INTO cites VALUES ('c', 'a')")
    base.commit()
    assert (tmp_path / "g.db-wal").stat().st_size
    assert importers.read("g", [path], KIND).adjacency.nnz == 3
    base.close()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_views_and_other_files_are_not_looked_at(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("source,target\na,c\n")
    view = "CREATE VIEW edges AS SELECT 'a' AS source, 'c' AS target"
    if kind == "duckdb":
        view = f"CREATE VIEW edges AS SELECT * FROM '{secret}'"
    path = made(tmp_path / "g.db", kind, view)
    check(importers.read("g", [path], KIND))
    with pytest.raises(TaamctlError, match="there is no such table"):
        importers.read("g", [path], ImportOptions(label="kind", table=("edges=edges",)))


def test_duckdb_opens_no_other_file(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from taamctl.importing.reader_duckdb import _connected

    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    path = made(tmp_path / "g.db", "duckdb")
    for line in (f"SELECT * FROM '{secret}'", "CREATE TABLE t (a INT)", f"ATTACH '{secret}' AS s"):
        with pytest.raises(TaamctlError, match="cannot be read: "), _connected(path) as base:
            base.execute(line)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_data_base_that_is_damaged_or_holds_no_two_tables(tmp_path: Path, kind: str) -> None:
    whole = made(tmp_path / "whole.db", kind).read_bytes()
    path = tmp_path / f"g.{kind}"
    for length in (1, 50, len(whole) // 3):
        path.write_bytes(whole[:length])
        with pytest.raises(TaamctlError):
            importers.read("g", [path], KIND)
    path.write_bytes(b"x" * 4096)
    with pytest.raises(TaamctlError, match="is no data base of"):
        importers.read("g", [path])
    one = made(tmp_path / "one.db", kind, "DROP TABLE cites")
    with pytest.raises(TaamctlError, match="holds papers, expected a table of nodes and one of"):
        importers.read("g", [one])
    empty = made(tmp_path / "empty.db", kind, "DELETE FROM cites")
    with pytest.raises(TaamctlError, match="cites has no row"):
        importers.read("g", [empty])


def test_columns_of_duckdb_that_are_no_plain_numbers(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    more = (
        "CREATE TYPE mood AS ENUM ('x', 'y')",
        "ALTER TABLE papers ALTER kind TYPE mood",
        "ALTER TABLE papers ADD COLUMN v DOUBLE[]",
        "UPDATE papers SET v = [p, 1]",
        "ALTER TABLE papers ADD COLUMN day DATE",
        "UPDATE papers SET day = DATE '2020-01-01'",
        "ALTER TABLE papers ADD COLUMN price DECIMAL(9, 2)",
        "UPDATE papers SET price = 1.25",
    )
    path = made(tmp_path / "g.duckdb", "duckdb", *more)
    graph = importers.read("g", [path], ImportOptions(label="kind", time="day"))
    assert graph.feature_names == ("p", "v[0]", "v[1]", "price")
    assert np.asarray(graph.features)[0].tolist() == [1.5, 1.5, 1.0, 1.25]
    assert graph.given.time is not None and graph.given.time.tolist() == [1577836800.0] * 3
    assert graph.class_names == ("x", "y")


def test_without_duckdb_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path / "g.duckdb", "duckdb")
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    with pytest.raises(TaamctlError, match="needs the package duckdb") as error:
        importers.read("g", [path])
    assert "pip install 'taamctl[duckdb]'" in error.value.hint
