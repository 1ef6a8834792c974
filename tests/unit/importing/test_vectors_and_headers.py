"""Tables as people have them: vectors in cells, decimal commas, first rows that are no names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import headers, importers
from taamctl.importing.import_graph import import_graph
from taamctl.importing.options import ImportOptions
from taamctl.importing.ways import Unclear, applied

EDGES = "source,target\na,b\nb,c\n"


def read(folder: Path, nodes: str, edges: str = EDGES, **options: str) -> NodeGraph:
    nodes_path, edges_path = folder / "nodes.csv", folder / "edges.csv"
    nodes_path.write_text(nodes)
    edges_path.write_text(edges)
    return importers.read("g", [nodes_path, edges_path], ImportOptions(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "cells",
    [
        ('"2.5,-1,3"', '"0,1e2,nan"', '"1,1,1"'),
        ('"[2.5, -1, 3]"', '"[0, 100, nan]"', '"[1, 1, 1]"'),
        ("[2.5 -1. 3.]", "[0. 100. nan]", "[1. 1. 1.]"),
        ('"[2.5 -1.\n 3.]"', '"[0.\n 100. nan]"', '"[1. 1.\n1.]"'),
        ("(2.5; -1; 3)", "(0; 100; nan)", "(1; 1; 1)"),
        ('"0x1.4p+1, -0x1p0, 0x1.8p+1"', '"0, 100, nan"', '"1, 1, 1"'),
    ],
)
def test_a_column_of_vectors_is_that_many_features(tmp_path: Path, cells: tuple[str, ...]) -> None:
    rows = "".join(f"{i},{k},{c}\n" for i, k, c in zip("abc", "xyx", cells, strict=True))
    graph = read(tmp_path, f"id,label,feat\n{rows}", nan="zero")
    assert graph.feature_names == ("feat[0]", "feat[1]", "feat[2]")
    assert np.asarray(graph.features).tolist() == [[2.5, -1, 3], [0, 100, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (('"[1,2,3]"', '"[1,2]"', '"[1,2,3]"'), "'feat' holds 2 numbers at row 1, and 3 at row 0"),
        (('"[1,2,3]"', '""', '"[1,2,3]"'), "'feat' holds no numbers at row 1"),
        (('"2,5"', '"3,1"', '"4,0"'), "one number with a decimal comma, or a vector of two"),
        (('"1,234"', '"2,000"', '"3,000"'), "holds '1,234' at row 0, which is no number"),
        (('"[1,2]"', "red", '"[1,2]"'), r"holds '\[1,2\]' at row 0, which is no number"),
        (("x" * 500, "y", "z"), "holds 'x{57}\\.\\.\\.' at row 0"),
    ],
)
def test_cells_that_are_no_vectors(tmp_path: Path, cells: tuple[str, ...], message: str) -> None:
    rows = "".join(f"{i},{k},{c}\n" for i, k, c in zip("abc", "xyx", cells, strict=True))
    with pytest.raises(TaamctlError, match=message):
        read(tmp_path, f"id,label,feat\n{rows}")


def test_decimal_commas_a_stated_delimiter_and_a_byte_order_mark(tmp_path: Path) -> None:
    nodes = "\ufeffsep=;\nid;label;p;q\na;x;2,5;1\nb;y;-0,5;2\nc;x;3;[1,5 2]\n".replace(
        "[1,5 2]", "3"
    )
    graph = read(tmp_path, nodes, decimal=",")
    assert np.asarray(graph.features).tolist() == [[2.5, 1], [-0.5, 2], [3, 3]]
    vectors = "id;label;p\na;x;[2,5 1]\nb;y;[0,5 2]\nc;x;[3 3]\n"
    graph = read(tmp_path, vectors, decimal=",")
    assert np.asarray(graph.features).tolist() == [[2.5, 1], [0.5, 2], [3, 3]]
    with pytest.raises(TaamctlError, match="holds '2,5' at row 0") as error:
        read(tmp_path, "id;label;p\na;x;2,5\nb;y;7\nc;x;3\n")
    assert error.value.hint.startswith("--decimal , where")


def test_names_behind_a_sign_of_comment(tmp_path: Path) -> None:
    nodes = "# made by hand\n#id,label,p\na,x,1\nb,y,2\nc,x,3\n"
    graph = read(tmp_path, nodes, "# source,target\na,b\nb,c\n")
    assert (graph.num_nodes, graph.feature_names, graph.adjacency.nnz) == (3, ("p",), 2)
    graph = read(tmp_path, "# a,first,try\nid,label,p\na,x,1\nb,y,2\nc,x,3\n")
    assert (graph.num_nodes, graph.feature_names) == (3, ("p",))


def test_tables_of_planetoids_papers(tmp_path: Path) -> None:
    content, cites = tmp_path / "my.content", tmp_path / "my.cites"
    content.write_text("p1\t0\t1\tTheory\nx2\t1\t0\tSystems\nq3\t1\t1\tTheory\n")
    cites.write_text("p1\tx2\nx2\tq3\n")
    graph = importers.read("g", [content, cites])
    assert (graph.num_nodes, graph.num_features, graph.adjacency.nnz) == (3, 2, 2)
    assert graph.class_names == ("Systems", "Theory")
    assert any("read without a header" in note for note in graph.notes)


def test_a_first_row_that_looks_like_data_is_asked_about(tmp_path: Path) -> None:
    rows = "".join(f"n{i},{i / 4},{'xy'[i % 2]}\n" for i in range(3))
    with pytest.raises(TaamctlError, match=r"no row of names: the first row \(n0, 0\.0, x\)"):
        read(tmp_path, rows, "source,target\nn0,n1\n")
    files = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    with pytest.raises(TaamctlError) as error:
        import_graph("g", files, tmp_path, options={})
    assert error.value.hint.splitlines()[1] == (
        f"  taamctl data import {files[0]} {files[1]} --name g --into {tmp_path} --header no "
        "--id 'column 0' --label 'column 2'"
    )
    told = {"header": "no", "id": "column 0", "label": "column 2"}
    graph = read(tmp_path, rows, "source,target\nn0,n1\n", **told)
    assert (graph.num_nodes, graph.num_features) == (3, 1)
    counted = "paper,0,1,2\na,1,2,3\nb,1,2,4\nc,1,2,5\n"
    assert read(tmp_path, counted, id="paper").num_features == 3
    with pytest.raises(TaamctlError, match="--header maybe: neither yes nor no"):
        read(tmp_path, rows, header="maybe")


def test_a_header_of_edges_with_unknown_names_above_numbers(tmp_path: Path) -> None:
    nodes = "id,label,p\n0,x,1\n1,y,2\n2,x,3\n"
    assert read(tmp_path, nodes, "node_id,node_id2\n0,1\n1,2\n").adjacency.nnz == 2
    with pytest.raises(TaamctlError, match="no telling whether the first row"):
        read(tmp_path, nodes, "first,second\none,two\n")


def test_labels_without_header_beside_matrices(tmp_path: Path) -> None:
    a, x, y = tmp_path / "a.mtx", tmp_path / "x.mtx", tmp_path / "y.csv"
    a.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
    x.write_text("%%MatrixMarket matrix array real general\n3 2\n" + "1.5\n" * 6)
    y.write_text("v1,Delta\nv2,Alpha\nv3,Delta\n")
    with pytest.raises(TaamctlError, match=r"2 rows below the first for 3 nodes"):
        importers.read("g", [a, x, y])
    told = ImportOptions(header="no", id="column 0", label="column 1")
    assert importers.read("g", [a, x, y], told).class_names == ("Alpha", "Delta")
    y.write_text("id,label\nv1,Delta\n")
    with pytest.raises(TaamctlError, match=r"y\.csv: 1 rows for the 3 nodes"):
        importers.read("g", [a, x, y])


def test_ids_printed_as_bytes_are_the_ids(tmp_path: Path) -> None:
    split = tmp_path / "split.csv"
    split.write_text("id,part\na,train\nb'b',test\n")
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    nodes.write_text("id,label,p\nb'a',x,1\nb'b',y,2\nb'c',x,3\n")
    edges.write_text(EDGES)
    graph = importers.read("g", [nodes, edges], split=split)
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["a", "b", "c"]
    assert graph.given.part is not None and graph.given.part.tolist() == [0, 2, -1]


def test_names_with_commas_are_taken_whole(tmp_path: Path) -> None:
    nodes = 'id,label,"a, b",p\na,x,1,2\nb,y,3,4\nc,x,5,6\n'
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    read(tmp_path, nodes)
    graph = importers.read("g", paths, ImportOptions(ignore=("a", "b")))
    assert graph.feature_names == ("p",)
    graph = importers.read("g", paths, ImportOptions(features=("p", "a", "b")))
    assert graph.feature_names == ("a, b", "p")


def test_all_bad_rows_are_named_at_once_with_their_lines(tmp_path: Path) -> None:
    nodes = '# made by hand\nid,label,p\na,x,1\n\nb,"two\nlines",red\n\nc,x,blue\nd,x,4\n'
    with pytest.raises(TaamctlError) as error:
        read(tmp_path, nodes)
    assert error.value.message == (
        f"{tmp_path}/nodes.csv: column 'p' holds 'red' at row 1, which is no number, nor 1 more of "
        "its cells; lines 5, 8 of the file"
    )
    rows = "".join(f"{i},x,{'red' if i % 2 else i}\n" for i in range(40))
    with pytest.raises(TaamctlError, match="lines 3, 5, .*, 21 of the file, and 10 more rows$"):
        read(tmp_path, f"id,label,p\n{rows}")
    with pytest.raises(TaamctlError, match="line 2 of the file$"):
        read(tmp_path, "#id,label,p\na,x,red\nb,y,1\n")


def _named_tables(folder: Path, first: str, rows: int = 6) -> list[Path]:
    names = [f"paper {i}" for i in range(rows)]
    lines = [f"{name},{'ab'[i % 2]},{i}.5,{-i}" for i, name in enumerate(names)]
    (folder / "nodes.csv").write_text("\n".join(["id,label,x,y2", *lines]) + "\n")
    edges = [f"{names[i]},{names[(i + 1) % rows]}" for i in range(rows)]
    (folder / "edges.csv").write_text("\n".join([first, *edges]) + "\n")
    return [folder / "nodes.csv", folder / "edges.csv"]


@pytest.mark.parametrize(
    ("first", "edges"), [("who cites,whom", 6), ("paper 2,paper 5", 7), ("Zitat,zitiert", 6)]
)
def test_the_rows_below_tell_whether_the_first_is_an_edge(
    tmp_path: Path, first: str, edges: int
) -> None:
    graph = importers.read("g", _named_tables(tmp_path, first))
    assert graph.adjacency.nnz == edges


def test_where_they_do_not_the_user_says(tmp_path: Path) -> None:
    paths = _named_tables(tmp_path, "paper 2,whom")
    with pytest.raises(Unclear, match="no telling whether the first row") as error:
        importers.read("g", paths)
    assert error.value.ways == ("--edge-header yes", "--edge-header no")
    for options in (
        ImportOptions(edge_header="yes"),
        ImportOptions(header="yes"),
        ImportOptions(source="paper 2", target="whom"),
    ):
        assert importers.read("g", paths, options).adjacency.nnz == 6
    with pytest.raises(TaamctlError, match="1 nodes stand in the edges only"):
        importers.read("g", paths, ImportOptions(edge_header="no"))
    with pytest.raises(TaamctlError, match="--edge-header maybe: neither yes nor no"):
        importers.read("g", paths, ImportOptions(edge_header="maybe"))


def test_columns_without_a_header_are_named_by_their_numbers(tmp_path: Path) -> None:
    paths = _named_tables(tmp_path, "paper 2,paper 5")
    options = ImportOptions(source="column 1", target="column 0")
    assert importers.read("g", paths, options).adjacency.nnz == 7


@pytest.mark.parametrize("first", ["na, nb", ",nb", "column 0,nb", "na,nb,kind", "--x,nb,kind"])
def test_an_answer_is_enough_whatever_the_first_row_holds(tmp_path: Path, first: str) -> None:
    path = tmp_path / "links.csv"
    path.write_text(f"{first}\nzz,nc,q\n")
    cells = first.split(",")
    with pytest.raises(Unclear, match="is an edge or the names") as question:
        headers.of_edges(cells, path, ImportOptions())
    assert [
        headers.of_edges(cells, path, ImportOptions(**applied({}, way)))
        for way in question.value.ways
    ] == [True, False]
