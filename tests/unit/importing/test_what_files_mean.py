"""What random files showed: each reading that was wrong or refused, with inputs of its own."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import command_line, importers
from taamctl.importing.options import ImportOptions, listed
from taamctl.importing.table_head import delimiter_of

EDGES = "source,target\na,b\nb,c\n"


def read(folder: Path, nodes: str, edges: str = EDGES, **options: object) -> NodeGraph:
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8", newline="")
    (folder / "edges.csv").write_text(edges, encoding="utf-8", newline="")
    paths = [folder / "nodes.csv", folder / "edges.csv"]
    return importers.read("g", paths, ImportOptions(**options))  # type: ignore[arg-type]


def pairs(graph: NodeGraph) -> set[tuple[int, int]]:
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.adjacency.indptr))
    return set(zip(graph.adjacency.indices.tolist(), rows.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("id;a, 0;b\n1;2;3\n", ";"),
        ("id|a, 0|b\n1|2|3\n", "|"),
        ("id;x\n1;0,5\n22;0,25\n", ";"),
        ("a;b,c\n1;2,3\n4;5,6\n", ","),  # nothing tells: as ever
        ('"a" "b" "c"\n"1" "2" "3"\n', " "),
        ("id,text\n1,a;b\n2,c\n", ","),
        ("id\ta, b\n1\t2, 3\n", "\t"),
        ("sep=;\na,b;c\n1;2\n", ";"),
        ("# a, b\nid;x\n1;2\n", ";"),
        ("id;x,y\n1;2\n3;4,5,6", ";"),  # a last line that may be cut off
    ],
)
def test_the_delimiter_parts_every_line_alike(text: str, parts: str) -> None:
    assert delimiter_of(text.encode()) == parts


def test_a_line_end_inside_a_name_of_a_column(tmp_path: Path) -> None:
    graph = read(tmp_path, 'id,"first\nsecond",label\na,1,p\nb,2,q\nc,3,p\n')
    assert graph.feature_names == ("first\nsecond",)
    assert np.asarray(graph.features).ravel().tolist() == [1, 2, 3]
    with pytest.raises(TaamctlError, match="row 2 has 2 cells"):
        read(tmp_path, 'id,x,"first\nsecond"\na,1,1\nb,2,2\nc,3\n')


@pytest.mark.parametrize("first", ["buyer,seller\n", ""])
def test_the_ids_tell_whether_a_first_row_is_an_edge(tmp_path: Path, first: str) -> None:
    nodes = "id,x,label\na,1,p\nb,2,q\nc,3,p\n"
    graph = read(tmp_path, nodes, f"{first}a,b\nb,c\nc,a\n")
    assert pairs(graph) == {(0, 1), (1, 2), (2, 0)}
    for edges in ("a,seller\na,b\nb,c\n", "a,b\nb,z\nc,a\n"):  # half an edge; an unknown node
        with pytest.raises(TaamctlError, match="no telling whether the first row"):
            read(tmp_path, nodes, edges)


def test_ends_that_differ_in_their_number(tmp_path: Path) -> None:
    nodes = "id,x,label\n5,1,p\n6,2,q\n7,3,p\n"
    graph = read(tmp_path, nodes, "w,txId1,txId2\n1,5,6\n1,6,7\n")
    assert pairs(graph) == {(0, 1), (1, 2)}
    for edges in ("a1,a2,b1,b2\n5,6,1,1\n", "a,b,w\n5,6,1\n"):
        with pytest.raises(TaamctlError, match="no telling which columns are the ends"):
            read(tmp_path, nodes, edges)
    graph = read(tmp_path, nodes, "5,6,7\n6,7,5\n")  # columns without names have numbers too
    assert pairs(graph) == {(0, 1), (1, 2)}


def test_an_id_beside_a_matrix(tmp_path: Path) -> None:
    from scipy.io import mmwrite
    from scipy.sparse import coo_matrix

    edges = coo_matrix((np.ones(2), ([0, 1], [1, 2])), shape=(3, 3))
    mmwrite(tmp_path / "edges.mtx", edges)
    for name, features in (("paper_id", ("x",)), ("year", ("year", "x"))):
        (tmp_path / "nodes.csv").write_text(f"{name},x,label\n007,1,p\n12,2,q\n30,3,p\n")
        graph = importers.read("g", [tmp_path / "edges.mtx", tmp_path / "nodes.csv"])
        assert graph.feature_names == features and pairs(graph) == {(0, 1), (1, 2)}
        if name == "paper_id":
            assert graph.given.node_id is not None
            assert graph.given.node_id.tolist() == ["007", "12", "30"]


def test_names_of_features_and_classes_beside_arrays(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    arrays = {
        "x": np.eye(3, dtype=np.float32),
        "edge_index": np.array([[0, 1], [1, 2]]),
        "y": np.array([1, 0, -1]),
        "task": np.array([7, 3, -1]),
        "class_names": np.array(["N/A", "b"]),
        "feature_names": np.array(["p, q", "p", "r"]),
    }
    np.savez(path, **arrays)  # type: ignore[arg-type]
    graph = importers.read("g", [path])
    assert (graph.class_names, graph.feature_names) == (("N/A", "b"), ("p, q", "p", "r"))
    assert graph.given.arrival is not None and graph.given.arrival.tolist() == [0, 1]
    for wrong in (["p", "q"], ["p", "p", "q"]):
        np.savez(path, **{**arrays, "feature_names": np.array(wrong)})  # type: ignore[arg-type]
        graph = importers.read("g", [path])
        assert graph.feature_names == () and any("2 names for 3" in note for note in graph.notes)
    np.savez(path, **{**arrays, "class_names": np.array(["a"])})  # type: ignore[arg-type]
    with pytest.raises(TaamctlError, match="class names do not fit"):
        importers.read("g", [path])


def test_a_class_that_usually_means_none_has_a_task(tmp_path: Path) -> None:
    nodes = "id,x,label,task\na,1,N/A,2\nb,2,q,1\nc,3,zz,\n"
    for of_c, options in (("", {"class_word": ("N/A",)}), ("zz", {"unlabelled": ("zz",)})):
        graph = read(tmp_path, nodes.replace("zz", of_c), **options)
        assert graph.class_names == ("N/A", "q") and graph.labels.tolist() == [0, 1, -1]
        assert graph.given.arrival is not None and graph.given.arrival.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class\nz\na\n", ("z", "a")),
        ("z\na\n", ("z", "a")),
        ("number,class\n1,a\n0,z\n", ("z", "a")),
        ('number,class\n0," z"\n1,\n', (" z", "")),
    ],
)
def test_a_table_of_the_classes(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    read(tmp_path, "id,x,label\na,1,1\nb,2,0\nc,3,\n")
    table = tmp_path / "classes.csv"
    table.write_text(text)
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    raw = importers.read_raw(paths, classes=table)
    assert tuple(raw.class_names) == names
    for wrong in ("number,class\n1,a\n2,z\n", "a,class\nb,a\nc,z\n", "number,class,w\n0,a,1\n"):
        table.write_text(wrong)
        with pytest.raises(TaamctlError, match="does not number the classes"):
            importers.read_raw(paths, classes=table)


def test_a_command_spells_every_name_of_a_feature() -> None:
    names = ("a,b", '"a"', 'say "hi", x', "it's", "a\nb", "*", "$x")
    options = ImportOptions(features=names, ignore=names)
    words = shlex.split(command_line.command(["n.csv"], options, {}))
    for option in ("--features", "--ignore"):
        given = [words[i + 1] for i, word in enumerate(words) if word == option]
        assert listed(given) == names
