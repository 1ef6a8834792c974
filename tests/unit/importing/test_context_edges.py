"""Edges to nodes of another graph: kept beside the new one, refused where they lead nowhere."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported

Rows = list[tuple[str, str]]


def write(path: Path, names: list[str], seed: int) -> Path:
    """Write a table of nodes."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow(["id", "label", "a", "b"])
        for name in names:
            lines.writerow([name, rng.choice(["ash", "oak"]), *rng.normal(size=2).round(3)])
    return path


def write_edges(path: Path, edges: Rows) -> Path:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("source", "target"), *edges])
    return path


def brought_in(folder: Path, name: str, *more: str) -> NodeGraph:
    done = CliRunner().invoke(
        app,
        ["data", "import", str(folder / f"{name}.csv"), str(folder / f"{name}_edges.csv"),
         "--name", name, "--into", str(folder), *more],
    )  # fmt: skip
    if done.exception is not None:
        raise done.exception
    return _imported.read(folder / f"{name}.h5")


def drawn(rng: np.random.Generator, n: int, spelling: str) -> list[str]:
    numbers = rng.choice(10**6, n, replace=False)
    return [spelling.format(number) for number in numbers]


@pytest.mark.parametrize("spelling", ["n{}", "{}", "{:09}", "a, {} é"])
@pytest.mark.parametrize("seed", range(4))
def test_random_edges_are_kept_where_they_belong(tmp_path: Path, spelling: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = drawn(rng, 32, spelling)
    old, new = names[:20], names[20:]
    write(tmp_path / "old.csv", old, seed)
    write(tmp_path / "new.csv", new, seed + 1)
    write_edges(tmp_path / "old_edges.csv", [(old[i], old[(i + 3) % 20]) for i in range(20)])
    edges = [(str(u), str(v)) for u, v in rng.choice(names, (90, 2))]
    write_edges(tmp_path / "new_edges.csv", edges)
    brought_in(tmp_path, "old")
    made = brought_in(tmp_path, "new", "--context", str(tmp_path / "old.h5"))
    ids = new if made.given.node_id is None else made.given.node_id.tolist()
    assert ids == new
    senders = np.repeat(np.arange(12), np.diff(made.adjacency.indptr))
    inside = {(new[u], new[v]) for v, u in zip(senders, made.adjacency.indices, strict=True)}
    assert inside == {(u, v) for u, v in edges if u in new and v in new}
    assert made.outside is not None
    crossing = {
        (name, new[row]) if into else (new[row], name)
        for row, name, into in zip(
            made.outside.row.tolist(), made.outside.name, made.outside.into.tolist(), strict=True
        )
    }
    assert crossing == {(u, v) for u, v in edges if (u in new) != (v in new)}
    assert len(made.outside) == len(crossing)
    among_old = sum(u in old and v in old for u, v in edges)
    assert f"new_edges.csv: {among_old:,} edges between nodes of old.h5 are not read" in made.notes
    assert any("are kept beside the graph: predict and bank add-task use" in n for n in made.notes)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return a folder with an imported graph of a, b and c, and tables of d and e beside it."""
    write(tmp_path / "old.csv", ["a", "b", "c"], 1)
    write_edges(tmp_path / "old_edges.csv", [("a", "b"), ("b", "c")])
    brought_in(tmp_path, "old")
    write(tmp_path / "new.csv", ["d", "e"], 2)
    return tmp_path


def refused(folder: Path, *more: str) -> TaamctlError:
    with pytest.raises(TaamctlError, match=r"^.+$") as caught:
        brought_in(folder, "new", *more)
    return caught.value


def test_the_message_says_how_many_nodes_and_names_both_ways_on(two: Path) -> None:
    edges = [("d", "e"), ("d", "a"), ("d", "b"), ("c", "e")]
    write_edges(two / "new_edges.csv", edges)
    error = refused(two)
    assert "3 nodes stand in the edges only ('a', 'b', 'c'; first at edge 1)" in error.message
    assert "--bad-edges drop (3 of 4)" in error.hint
    assert "--context" in error.hint
    dropped = brought_in(two, "new", "--bad-edges", "drop")
    assert dropped.adjacency.nnz == 1
    assert dropped.outside is None
    kept = brought_in(two, "new", "--context", str(two / "old.h5"), "--force")
    assert kept.outside is not None
    assert kept.outside.name.tolist() == ["a", "b", "c"]


def test_a_node_that_stands_nowhere_is_refused_and_can_be_dropped(two: Path) -> None:
    write_edges(two / "new_edges.csv", [("d", "e"), ("d", "a"), ("e", "zz")])
    old = ("--context", str(two / "old.h5"))
    assert "1 nodes stand in the edges only ('zz'" in refused(two, *old).message
    made = brought_in(two, "new", *old, "--bad-edges", "drop")
    assert made.adjacency.nnz == 1
    assert made.outside is not None
    assert made.outside.name.tolist() == ["a"]


def test_a_node_in_both_graphs_is_refused(two: Path) -> None:
    write(two / "new.csv", ["d", "a"], 2)
    write_edges(two / "new_edges.csv", [("d", "a")])
    error = refused(two, "--context", str(two / "old.h5"))
    assert "new.csv: 1 nodes stand in old.h5 too ('a')" in error.message


def test_nodes_of_the_context_tell_what_the_edges_name(two: Path) -> None:
    """An id column of an odd name, and an edge list without a header, over both graphs' nodes."""
    nodes = (two / "new.csv").read_text(encoding="utf-8").replace("id,label", "what,label", 1)
    (two / "new.csv").write_text(nodes, encoding="utf-8")
    (two / "new_edges.csv").write_text("d,e\nd,a\nb,e\n", encoding="utf-8")
    assert "is an edge or the names of the columns" in refused(two).message
    made = brought_in(two, "new", "--context", str(two / "old.h5"))
    assert made.given.node_id is not None
    assert made.given.node_id.tolist() == ["d", "e"]
    assert made.adjacency.nnz == 1
    assert made.outside is not None
    assert made.outside.name.tolist() == ["a", "b"]


def test_edges_that_count_rows_have_no_context(two: Path) -> None:
    write_edges(two / "new_edges.csv", [("0", "1")])
    error = refused(two, "--context", str(two / "old.h5"), "--ends", "rows")
    assert "row numbers, so none can be a node of old.h5" in error.message
    assert "--id" in error.hint


def test_a_graph_all_of_whose_edges_lead_to_the_context(two: Path) -> None:
    write_edges(two / "new_edges.csv", [("a", "d"), ("e", "b"), ("a", "d")])
    made = brought_in(two, "new", "--context", str(two / "old.h5"))
    assert made.adjacency.nnz == 0
    assert made.outside is not None
    assert made.outside.into.tolist() == [True, False]


def test_own_nodes_may_be_spelled_as_other_numbers_are(tmp_path: Path) -> None:
    write(tmp_path / "old.csv", ["9", "10", "11"], 0)
    write_edges(tmp_path / "old_edges.csv", [("9", "10"), ("10", "11"), ("11", "9")])
    brought_in(tmp_path, "old")
    write(tmp_path / "new.csv", ["1", "2", "3"], 1)
    write_edges(tmp_path / "new_edges.csv", [("1", "2"), ("2", "3"), ("01", "9"), ("3.0", "10")])
    graph = brought_in(tmp_path, "new", "--context", str(tmp_path / "old.h5"), "--ends", "ids")
    assert graph.outside is not None
    assert sorted(zip(graph.outside.row, graph.outside.name, strict=True)) == [(0, "9"), (2, "10")]
