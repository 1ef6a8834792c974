"""What only some files can do wrong, or say: tables as spreadsheets write them, pickles, XML,
matrices, events.
"""

from __future__ import annotations

import collections
import gzip
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.graph.canonical import to_scipy
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions

NODES = "id,label,a,b\nx,one,1,2\ny,two,3,4\nz,one,5,6\n"
EDGES = "source,target\nx,y\ny,z\n"


@pytest.fixture(scope="module")
def formats() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "taamctl_tests_formats", Path(__file__).with_name("formats.py")
    )
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tables(tmp_path: Path) -> Callable[..., NodeGraph]:
    """Return a function that imports a node table and an edge list from their text."""

    def run(
        nodes: str | bytes = NODES,
        edges: str | bytes = EDGES,
        names: tuple[str, str] = ("nodes.csv", "edges.csv"),
        **options: Any,
    ) -> NodeGraph:
        for name, content in zip(names, (nodes, edges), strict=True):
            (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return importers.read("own", [tmp_path / name for name in names], ImportOptions(**options))

    return run


def entries(graph: NodeGraph) -> list[tuple[int, int]]:
    target, source = np.nonzero(to_scipy(graph.adjacency).toarray())
    return sorted(zip(source.tolist(), target.tolist(), strict=True))


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda t: "\ufeff" + t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace(",", ";"),
        lambda t: t.replace(",", "\t"),
        lambda t: t.replace(",", "|"),
        lambda t: t.replace(",", " "),
        lambda t: "# made by hand\n\n" + t,
        lambda t: t + "\n\n",
        lambda t: "\n".join('"' + line.replace(",", '","') + '"' for line in t.splitlines()),
        lambda t: t.rstrip("\n"),
    ],
    ids=[
        "bom",
        "crlf",
        "semicolon",
        "tab",
        "bar",
        "space",
        "comment",
        "blank lines",
        "quoted",
        "no end of line",
    ],
)
def test_ways_to_spell_a_table(
    tables: Callable[..., NodeGraph], change: Callable[[str], str]
) -> None:
    graph = tables(change(NODES), change(EDGES))
    assert np.asarray(graph.features).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (graph.class_names, entries(graph)) == (("one", "two"), [(0, 1), (1, 2)])
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["x", "y", "z"]


def test_quoted_cells_may_hold_the_delimiter_and_line_ends(
    tables: Callable[..., NodeGraph],
) -> None:
    graph = tables(
        'id,label,a\n"x, the first","say ""one""",1\n"y\n2",two,2\n',
        'source,target\n"x, the first","y\n2"\n',
    )
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == [
        "x, the first",
        "y\n2",
    ]
    assert graph.class_names == ('say "one"', "two")


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (NODES, "", r"edges\.csv is empty"),
        ("\n \n", EDGES, r"nodes\.csv (is empty|comes)|expected"),
        ("id,label,a\n", EDGES, r"nodes\.csv has no row below its header"),
        (NODES, "source,target\n", r"edges\.csv has no row below its header"),
        (
            "id,label,a\nx,one,1,9\n",
            EDGES,
            r"nodes\.csv cannot be read: rows are longer; its first row has 3 cells",
        ),
        (
            "id,label,a\nx,one,1\ny,two,2,3\n",
            EDGES,
            r"nodes\.csv cannot be read: Expected 3 fields in line 3, saw 4",
        ),
        (
            "id,label,a\nx,one,1\ny,two\nz,one,2\n",
            EDGES,
            r"nodes\.csv: row 1 has 2 cells, but the header has 3",
        ),
        (NODES, "source,target\nx,y\ny\n", r"edges\.csv: row 1 has 1 cells, but the header has 2"),
        (NODES, "source,target\nx,y\n,z\n", r"edges\.csv: edge 1 is \(, z\): an end is missing"),
        ("id,a,a\nx,1,2\n", EDGES, r"nodes\.csv: two columns are called 'a'"),
        ("0,1,2\n1,3,4\n", EDGES, r"nodes\.csv: the first row holds numbers only"),
        ("id,label,ü\nx,one,1\n".encode("latin-1"), EDGES, r"nodes\.csv is no UTF-8 text"),
        ("id,label,a\nü,one,1\n".encode("latin-1"), EDGES, r"nodes\.csv is no UTF-8 text"),
        (NODES.encode("utf-16"), EDGES, r"nodes\.csv is UTF-16 text"),
        (b"PK\x03\x04" + NODES.encode(), EDGES, r"nodes\.csv is no text table"),
        ("id,label\nx,one\ny,two\nz,one\n", EDGES, r"nodes\.csv holds no feature"),
        (NODES, "a,b\nx,y\n", r"edges\.csv: no telling whether the first row \(a, b\) is an edge"),
        (
            "label,a\none,1\ntwo,2\n",
            EDGES,
            r"edges\.csv: edge 0 is \(x, y\), which is no row of the node table; that has no id",
        ),
        (
            "label,a\none,1\ntwo,2\n",
            "source,target\n0,99999999999999999999\n",
            r"edge 0 is \(0, 99999999999999999999\), which is no row",
        ),
        (
            "label,a\none,1\ntwo,2\n",
            "0 1\n1 2\n",
            r"edges\.csv: edge 1 is \(1, 2\), but 2 nodes have features, numbered 0 to 1; 1 edges",
        ),
        (
            "id,label,a\nx,one,1e39\ny,two,1\nz,one,1\n",
            EDGES,
            r"nodes\.csv: feature inf at row 0, column 0 \(a\)",
        ),
    ],
)
def test_faults_of_tables(
    tables: Callable[..., NodeGraph], nodes: Any, edges: Any, message: str
) -> None:
    with pytest.raises(TaamctlError, match=message):
        tables(nodes, edges)


def test_a_wrong_delimiter_is_named(tables: Callable[..., NodeGraph]) -> None:
    with pytest.raises(
        TaamctlError, match=r"edges\.csv: one column \(source,target\), expected two ends"
    ) as error:
        tables(NODES.replace(",", ";"), EDGES, delimiter=";")
    assert "--delimiter" in error.value.hint


@pytest.mark.parametrize("keep", [10, 30, -6])
def test_a_truncated_gzip_is_named(tables: Callable[..., NodeGraph], keep: int) -> None:
    with pytest.raises(TaamctlError, match=r"nodes\.csv\.gz cannot be read"):
        tables(gzip.compress(NODES.encode())[:keep], EDGES, names=("nodes.csv.gz", "edges.csv"))
    with pytest.raises(TaamctlError, match=r"nodes\.csv\.gz is empty"):
        tables(gzip.compress(b""), EDGES, names=("nodes.csv.gz", "edges.csv"))


def test_an_edge_list_without_header_and_nodes_without_ids(
    tables: Callable[..., NodeGraph],
) -> None:
    graph = tables("label,a\none,1\ntwo,2\none,3\n", "# from to\n0\t1\n2\t2\n")
    assert (entries(graph), graph.given.node_id) == ([(0, 1), (2, 2)], None)
    assert "nodes.csv: no id column: nodes are numbered by their rows from 0" in graph.notes


def test_columns_are_named_by_options(tables: Callable[..., NodeGraph]) -> None:
    nodes = (
        "key,kind,w1,w2,z,born,set\nx,one,1,2,Q,2001-01-02,train\n"
        "y,two,3,4,R,1970-01-01T00:00:01Z,\nz,one,5,6,S,,test\n"
    )
    edges = "w,a,b\n1,x,y\n2,z,x\n"
    graph = tables(
        nodes,
        edges,
        id="key",
        label="kind",
        features=("w*",),
        time="born",
        part="set",
        source="a",
        target="b",
    )
    assert np.asarray(graph.features).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert entries(graph) == [(0, 1), (2, 0)]
    given = graph.given
    assert given.part is not None and given.part.tolist() == [0, -1, 2]
    assert (
        given.time is not None
        and given.time[:2].tolist() == [978393600, 1]
        and np.isnan(given.time[2])
    )
    assert {"nodes.csv: columns not read: z", "edges.csv: columns of the edges not read: w"} <= set(
        graph.notes
    )
    assert any("seconds since 1970" in n for n in graph.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label": "lable"},
            r"nodes\.csv: --label lable: there is no such column; there are: id, label, a, b",
        ),
        ({"ignore": ("q*",)}, r"nodes\.csv: --ignore q\*: there is no such column"),
        ({"features": ("a", "c")}, r"nodes\.csv: --features c: there is no such column"),
        ({"source": "source"}, "--source and --target belong together"),
        (
            {"source": "source", "target": "goal"},
            r"edges\.csv: --target goal: there is no such column",
        ),
        ({"time": "label"}, r"nodes\.csv: the time 'one' at row 0 is neither a number nor a date"),
        ({"part": "label"}, r"the part 'one' at row 0 is none of train, val, test"),
        ({"task": "b", "label": ""}, r"nodes\.csv: class 'one' has the tasks 2 and 6 \(row 2\)"),
    ],
)
def test_options_that_do_not_fit(
    tables: Callable[..., NodeGraph], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaamctlError, match=message):
        tables(**options)


def test_a_column_of_tasks_and_one_of_masks(tables: Callable[..., NodeGraph]) -> None:
    nodes = (
        "id,label,a,task,train_mask,test_mask\nx,one,1,5,True,0\ny,two,2,1,False,1\nz,one,3,5,,0\n"
    )
    given = tables(nodes).given
    assert given.arrival is not None and given.arrival.tolist() == [1, 0]
    assert given.part is not None and given.part.tolist() == [0, 2, -1]
    with pytest.raises(TaamctlError, match="node 0 is in train and in test"):
        tables(nodes.replace("True,0", "True,1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,task\none,1\n", "no task is given for the class 'two'"),
        ("class,task\none,1\ntwo,2\none,2\n", r"class 'one' has the tasks 1 and 2 \(row 2\)"),
        (
            "class,task\none,1\ntwo,2\nsix,3\n",
            "a task is given for 'six', which no node has as its class",
        ),
        ("class\none\n", "has one column, expected class and task"),
    ],
)
def test_tables_of_tasks_that_do_not_fit(
    tables: Callable[..., NodeGraph], tmp_path: Path, text: str, message: str
) -> None:
    tables()
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TaamctlError, match=message):
        importers.read(
            "own", [tmp_path / "nodes.csv", tmp_path / "edges.csv"], tasks=tmp_path / "t.csv"
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,part\nq,train\n", "row 0 is about the node 'q', which the graph lacks"),
        ("id,part\nx,trian\n", "the part 'trian' at row 0 is none of train, val, test"),
        ("id,part\nx,train\ny,test\nx,test\n", r"the node 'x' is in train and in test \(row 2\)"),
        ("id,part\nx,\n", "gives no node a part"),
    ],
)
def test_tables_of_parts_that_do_not_fit(
    tables: Callable[..., NodeGraph], tmp_path: Path, text: str, message: str
) -> None:
    tables()
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(TaamctlError, match=message):
        importers.read(
            "own", [tmp_path / "nodes.csv", tmp_path / "edges.csv"], split=tmp_path / "s.csv"
        )


def test_which_file_holds_the_edges(tables: Callable[..., NodeGraph], tmp_path: Path) -> None:
    assert entries(
        tables("id,from,label,a\nx,1,one,1\ny,2,two,2\n", "u,v\nx,y\n", ("a.csv", "b.csv"))
    ) == [(0, 1)]
    with pytest.raises(TaamctlError, match="comes alone: there is no node table"):
        importers.read("own", [tmp_path / "b.csv"])
    with pytest.raises(TaamctlError, match="comes alone: there is no edge list"):
        importers.read("own", [tmp_path / "a.csv"])
    with pytest.raises(TaamctlError, match="3 tables are named"):
        importers.read("own", [tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "b.csv"])
    with pytest.raises(TaamctlError, match="no telling which of .* is the edge list"):
        tables("id,p,q,r\nx,1,1,1\n", "e,f,g,h\n1,2,3,4\n", ("a.csv", "b.csv"))


def test_labels_spelled_with_zeros_keep_them(
    tables: Callable[..., NodeGraph], tmp_path: Path
) -> None:
    graph = tables("id,label,a\nx,007,1\ny,10,2\nz,010,3\n")
    assert (graph.class_names, graph.labels.tolist()) == (("007", "10"), [0, 1, 1])
    assert "labels spelled differently are one number, so one class: 010, 10" in graph.notes
    (tmp_path / "t.csv").write_text("class,task\n7,2\n10,1\n")
    given = importers.read(
        "own", [tmp_path / "nodes.csv", tmp_path / "edges.csv"], tasks=tmp_path / "t.csv"
    ).given
    assert given.arrival is not None and given.arrival.tolist() == [1, 0]
    assert tables("id,label,a\nx,1_0,1\ny,10,2\nz,10,3\n").class_names == ("10", "1_0")


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        (
            "id,label,a\nx,one,1\ny,two\nz,one,3\n",
            {"nan": "zero"},
            r"nodes\.csv: row 1 has 2 cells, but the header has 3",
        ),
        (
            "id,a,label\nx,1,one\n\ny,2,two\nz,3",
            {},
            r"nodes\.csv: row 2 has 2 cells, but the header has 3",
        ),
        (
            "id,label,a\nx,one,1\ny,two,\nz,one,3\n",
            {},
            r"nodes\.csv: feature nan at row 1, column 0 \(a\)",
        ),
        ("id,label,a\nx,one,1\n,two,2\nz,one,3\n", {}, r"nodes\.csv: the node at row 1 has no id"),
        ("id,label,a\nx,inf,1\ny,1,2\nz,0,3\n", {}, r"nodes\.csv: label inf at row 0 is no class"),
        (
            "id,label,a,time\nx,1,1,2\ny,1,2,inf\nz,0,3,4\n",
            {},
            r"nodes\.csv: the time at row 1 is inf",
        ),
        (
            "id,label,a\nx,0,1_0\ny,1,2\nz,0,3\n",
            {},
            r"column 'a' holds '1_0' at row 0, which is no number",
        ),
        (
            NODES,
            {"label": "label", "features": ("label", "a")},
            r"'label' is named by --features and by --label",
        ),
        (
            NODES,
            {"delimiter": ";"},
            r"nodes\.csv: one column \(id,label,a,b\), expected at least an id and features",
        ),
    ],
)
def test_what_would_be_misread(
    tables: Callable[..., NodeGraph], nodes: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TaamctlError, match=message):
        tables(nodes, "source,target\nx,z\n", **options)


def test_empty_last_cells_are_no_short_rows(tables: Callable[..., NodeGraph]) -> None:
    assert tables("id,a,label\nx,1,one\ny,2,\nz,3,\n").labels.tolist() == [0, -1, -1]
    with pytest.raises(TaamctlError, match=r"edges\.csv: edge 1 is \(y, \): an end is missing"):
        tables(edges="source,target\nx,y\ny,\n")


@pytest.mark.parametrize("index", ["", "Unnamed: 0"])
def test_an_index_that_a_table_was_written_with_is_no_feature(
    tables: Callable[..., NodeGraph], index: str
) -> None:
    graph = tables(f"{index},id,label,a\n0,x,one,1\n1,y,two,2\n2,z,one,3\n")
    assert np.asarray(graph.features).tolist() == [[1], [2], [3]]
    assert "nodes.csv: columns not read: Unnamed: 0" in graph.notes
    named = tables(f"{index},label,a\nx,one,1\ny,two,2\nz,one,3\n")
    assert (named.num_features, named.given.node_id.tolist()) == (1, ["x", "y", "z"])  # type: ignore[union-attr]


def test_a_pattern_of_features_takes_no_label_and_nothing_ignored(
    tables: Callable[..., NodeGraph],
) -> None:
    assert np.asarray(tables(features=("*",), ignore=("b",)).features).tolist() == [[1], [3], [5]]


def test_faults_of_tasks_and_parts_name_their_file(tmp_path: Path) -> None:
    for name, text in (
        ("nodes.csv", NODES),
        ("edges.csv", EDGES),
        ("tasks.csv", "class,task\none,0\n"),
        ("split.csv", "id,part\nx,tset\n"),
    ):
        (tmp_path / name).write_text(text)
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    with pytest.raises(TaamctlError, match=r"tasks\.csv: no task is given for the class 'two'"):
        importers.read("own", paths, tasks=tmp_path / "tasks.csv")
    with pytest.raises(
        TaamctlError, match=r"split\.csv: the part 'tset' at row 0 is none of train, val, test"
    ):
        importers.read("own", paths, split=tmp_path / "split.csv")


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.npz", r"a\.npz is no \.npz file"), ("a.mtx", r"a\.mtx is no Matrix Market file")],
)
def test_a_name_that_promises_another_format(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_text(EDGES)
    with pytest.raises(TaamctlError, match=message):
        importers.read("own", [tmp_path / name])


def test_parquet_lists_dates_and_categories(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    big = 2**60
    nodes = pa.table(
        {
            "id": pa.array([big + 1, big, 7], pa.int64()),
            "label": pa.array([big + 1, big, None], pa.int64()),
            "kind": pa.array(["b", "a", "b"]).dictionary_encode(),
            "emb": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32())),
            "time": pa.array([0, 86_400_000, None], pa.timestamp("ms")),
        }
    )
    pq.write_table(nodes, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text(f"source,target\n{big},{big + 1}\n")
    paths = [tmp_path / "nodes.parquet", tmp_path / "edges.csv"]
    numbered = importers.read("own", paths, ImportOptions(ignore=("kind",)))
    assert (numbered.class_names, numbered.labels.tolist()) == (
        (str(big), str(big + 1)),
        [1, 0, -1],
    )
    with pytest.raises(TaamctlError, match=r"nodes\.parquet: the node at row 2 has no id"):
        importers.read("own", paths, ImportOptions(id="label", label="kind", ignore=("id",)))
    graph = importers.read("own", paths, ImportOptions(label="kind", ignore=("label",)))
    assert (entries(graph), graph.class_names) == ([(1, 0)], ("a", "b"))
    assert np.asarray(graph.features).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert (
        graph.given.time is not None
        and graph.given.time[:2].tolist() == [0, 86400]
        and np.isnan(graph.given.time[2])
    )
    pq.write_table(pa.table({"id": [0, 1], "emb": [[1.0], [1.0, 2.0]]}), tmp_path / "nodes.parquet")
    with pytest.raises(TaamctlError, match="the lists in column 'emb' have different lengths"):
        importers.read("own", [tmp_path / "nodes.parquet", tmp_path / "edges.csv"])
    (tmp_path / "nodes.parquet").write_bytes((tmp_path / "nodes.parquet").read_bytes()[:-20])
    with pytest.raises(TaamctlError, match=r"nodes\.parquet cannot be read"):
        importers.read("own", [tmp_path / "nodes.parquet", tmp_path / "edges.csv"])


def test_without_pyarrow_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "n.parquet").write_bytes(b"PAR1")
    with pytest.raises(TaamctlError, match="needs the package pyarrow") as error:
        importers.read("own", [tmp_path / "n.parquet", tmp_path / "n.parquet"])
    assert "taamctl[parquet]" in error.value.hint


# --------------------------------------------------------------------------------------------------


def test_formats_are_guessed_from_contents_and_refused_by_name(
    formats: ModuleType, tmp_path: Path
) -> None:
    for kind in ("npz", "graphml", "dgl", "pt"):
        (tmp_path / kind).mkdir()
        (path,) = formats.WRITERS[kind](formats.Spec(), tmp_path / kind)
        path = path.rename(path.with_name("graph"))
        assert importers.read("own", [path]).num_nodes == 4
    (tmp_path / "what.xyz").write_bytes(b"\x00\x01")
    with pytest.raises(TaamctlError, match=r"what\.xyz: its name does not tell its format"):
        importers.read("own", [tmp_path / "what.xyz"])
    with pytest.raises(TaamctlError, match="--format excel: there is no such format"):
        importers.read("own", [tmp_path / "what.xyz"], kind="excel")
    with pytest.raises(TaamctlError, match="no file to import is named"):
        importers.read("own", [])
    with pytest.raises(TaamctlError, match="is a folder"):
        importers.read("own", [tmp_path, tmp_path], kind="table")
    with pytest.raises(TaamctlError, match="an .npz file is one file, but 2 are named"):
        importers.read("own", [tmp_path / "npz" / "graph"] * 2, kind="npz")


# --------------------------------------------------------------------------------------------------


def save(path: Path, **arrays: Any) -> NodeGraph:
    np.savez(path, **arrays)
    return importers.read("own", [path])


X, Y, E = np.eye(3, dtype=np.float32), np.array([0, 1, 1]), np.array([[0, 1, 2, 2], [1, 2, 0, 1]])


def test_keys_and_shapes_of_arrays(tmp_path: Path) -> None:
    path = tmp_path / "g.npz"
    graph = save(
        path,
        feat=X,
        edges=E.T,
        label=Y,
        train_idx=np.array([2]),
        valid_idx=np.array([0]),
        extra=np.zeros(2),
    )
    assert entries(graph) == [(0, 1), (1, 2), (2, 0), (2, 1)]
    assert graph.given.part is not None and graph.given.part.tolist() == [1, -1, 0]
    assert {
        "g.npz: edges of shape (4, 2) taken as one edge a row",
        "g.npz: not read: extra",
    } <= set(graph.notes)
    assert entries(save(path, x=X, src=E[0], dst=E[1], y=Y)) == entries(graph)
    named = save(
        path, x=X, edge_index=E, y=np.array([2, 0, 2]), class_names=np.array(["cat", "dog", "emu"])
    )
    assert (named.class_names, named.labels.tolist()) == (("cat", "emu"), [1, 0, 1])
    dates = save(
        path, x=X, edge_index=E, y=Y, time=np.array(["1970-01-02", "NaT", "1970-01-01"], "M8[D]")
    )
    assert (
        dates.given.time is not None
        and dates.given.time[[0, 2]].tolist() == [86400, 0]
        and np.isnan(dates.given.time[1])
    )


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"edge_index": E, "y": Y},
            r"g\.npz holds no features: none of edge_index, y is called x or feat",
        ),
        ({"x": X, "y": Y}, r"g\.npz holds no edges: none of x, y is called edge_index"),
        (
            {"x": X, "edge_index": E.ravel(), "y": Y},
            r"edge_index has the shape \(8,\), expected \(2, E\)",
        ),
        ({"x": X, "edge_index": E + 0.5, "y": Y}, "edge ids are float64, expected whole numbers"),
        (
            {"x": X, "edge_index": E, "y": np.zeros((3, 2)) + 0.5},
            r"labels of shape \(3, 2\) are not one-hot \(row 0\)",
        ),
        (
            {"x": X, "edge_index": E, "y": Y, "train_mask": np.ones(2, bool)},
            r"the train mask has shape \(2,\) for 3 nodes",
        ),
        (
            {"x": X, "edge_index": E, "y": Y, "train_mask": np.array([0, 1, 2])},
            "train_mask holds other values than 0 and 1",
        ),
        (
            {"x": X, "edge_index": E, "y": Y, "test_idx": np.array([3])},
            "test_idx holds no row numbers from 0 to 2",
        ),
        (
            {"x": np.array([["a"], ["b"], ["c"]]), "edge_index": E},
            r"features are <U1 \(3, 1\), expected one row of numbers",
        ),
        ({"x": np.zeros((0, 2)), "edge_index": np.zeros((2, 0), int)}, "holds no node"),
        (
            {"x": X, "edge_index": E, "y": np.array([{}, 1, 2], object)},
            "the array 'y' holds Python objects, which are not unpickled",
        ),
        (
            {"x": X, "edge_index": E, "y": Y, "class_names": np.array(["a"])},
            "1 class names do not fit the labels 0, 1",
        ),
        ({"adj_data": Y, "x": X}, "no array called adj_indices"),
    ],
)
def test_faults_of_arrays(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        save(tmp_path / "g.npz", **arrays)


# --------------------------------------------------------------------------------------------------


class Runs:
    """Makes a folder when an unguarded reader unpickles it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Runs, r"(posix|nt)\.mkdir"),
        (lambda _: eval, r"builtins\.eval"),
        (lambda _: getattr, r"builtins\.getattr"),
        (lambda _: torch.nn.Linear(1, 1), r"torch\.nn\.modules\.linear\.Linear"),
        (lambda _: np.load, r"numpy\.load"),
        (lambda _: Path("x"), r"pathlib\.\w+"),
        (lambda _: importers.read, r"taamctl\.importing\.importers\.read"),
        (lambda _: torch.load, r"torch\.serialization\.load"),
        (lambda _: collections.Counter("ab"), r"collections\.Counter"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_pickle_that_asks_for_code_is_refused_by_name(
    formats: ModuleType, tmp_path: Path, value: Any, name: str, inside: bool
) -> None:
    made, path = value(tmp_path / "made"), tmp_path / "g.pt"
    if inside:
        formats.save_object(path, "Data", {"x": made})
    else:
        torch.save({"x": made}, path)
    with pytest.raises(TaamctlError, match=rf"g\.pt: refused to construct {name}") as error:
        importers.read("own", [path])
    assert "torch.save(data.to_dict(), path)" in error.value.hint
    assert not (tmp_path / "made").exists()


def test_pyg_classes_are_never_imported(formats: ModuleType, tmp_path: Path) -> None:
    formats.save_object(tmp_path / "g.pt", "Data", formats.tensors(formats.Spec()))
    (tmp_path / "torch_geometric").mkdir()
    (tmp_path / "torch_geometric" / "__init__.py").write_text("raise SystemExit('imported')")
    code = (
        "from pathlib import Path; from taamctl.importing.importers import read; print(read('g', "
        "[Path('g.pt')]).num_nodes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.stdout.strip() == "4", done.stderr


def test_other_things_that_torch_saves(formats: ModuleType, tmp_path: Path) -> None:
    path, tensors = tmp_path / "g.pt", formats.tensors(formats.Spec())
    for wrap in (
        lambda d: (d, None),
        lambda d: (d, {"x": torch.tensor([0, 4])}, type(d)),
        lambda d: [d],
    ):  # a data set's processed file
        formats.save_object(path, "Data", {**tensors, "num_nodes": 4}, wrap)
        assert importers.read("own", [path]).num_nodes == 4
    outside = torch.sparse_coo_tensor([[9], [0]], [1.0], (4, 2), check_invariants=False)
    refused = {
        "holds 2 graphs, expected one": (tensors, {"x": torch.tensor([0, 2, 4])}),
        "holds Tensor, expected": torch.zeros(2),
        "holds no features": {"y": torch.zeros(2)},
        "4 feature rows .x. for 5 nodes": {**tensors, "num_nodes": 5},
        # torch refuses it as it loads, or we as we read x: the version decides
        "cannot be read: .*(row|column|axis|index)": {**tensors, "x": outside},
    }
    for message, value in refused.items():
        torch.save(value, path)
        with pytest.raises(TaamctlError, match=message):
            importers.read("own", [path])
    formats.save_object(path, "HeteroData", {})
    with pytest.raises(TaamctlError, match=r"several types of nodes \(HeteroData\)"):
        importers.read("own", [path])
    torch.save(tensors, path, _use_new_zipfile_serialization=False)
    with pytest.raises(TaamctlError, match="is not what torch.save writes since torch 1.6"):
        importers.read("own", [path])
    torch.save({**{k: v for k, v in tensors.items() if k != "edge_index"}, "adj_t": {1: 2}}, path)
    with pytest.raises(TaamctlError, match="holds its edges as adj_t"):
        importers.read("own", [path])


def test_events_give_nodes_their_first_time(formats: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "events.pt"
    events = {
        "src": torch.tensor([2, 0, 2]),
        "dst": torch.tensor([0, 3, 0]),
        "t": torch.tensor([5, 9, 7]),
        "msg": torch.tensor([[1.0], [3.0], [5.0]]),
    }
    formats.save_object(path, "TemporalData", {**events, "y": torch.tensor([0, 1, 0])})
    graph = importers.read("own", [path])
    assert (graph.num_nodes, entries(graph)) == (4, [(0, 3), (2, 0)])
    assert np.asarray(graph.features).tolist() == [[3], [0], [3], [3]]
    assert (
        graph.given.time is not None
        and graph.given.time[[0, 2, 3]].tolist() == [5, 5, 9]
        and np.isnan(graph.given.time[1])
    )
    assert (
        graph.class_names == ()
        and "events.pt: y labels events, not nodes: not read; --label KEY names labels of nodes"
        in graph.notes
    )
    formats.save_object(
        path, "TemporalData", {**events, "x": torch.eye(4), "node_y": torch.tensor([4, 4, 2, -1])}
    )
    graph = importers.read("own", [path], ImportOptions(label="node_y"))
    assert (graph.num_features, graph.class_names, graph.labels.tolist()) == (
        4,
        ("2", "4"),
        [1, 1, 0, -1],
    )
    for change, message in (
        ({"src": torch.tensor([2, -1, 2])}, r"edge 1 is \(-1, 3\)"),
        ({"t": torch.tensor([1])}, "3 sources, 3 targets and 1 times"),
        ({"msg": torch.zeros(1, 1)}, "holds neither x nor msg"),
    ):
        formats.save_object(path, "TemporalData", {**events, **change})
        with pytest.raises(TaamctlError, match=message):
            importers.read("own", [path])


# --------------------------------------------------------------------------------------------------

GRAPHML = (
    '<?xml version="1.0"?>{doctype}<graphml><key id="a" for="node" attr.name="a" '
    'attr.type="double"><default>7</default></key><key id="w" for="edge" attr.name="weight" '
    'attr.type="double"/><graph edgedefault="undirected"><node id="n"><data '
    'key="a">1</data></node><node id="m"/><edge source="n" target="m"><data '
    'key="w">2</data></edge><edge source="m" target="m"/>{more}</graph></graphml>'
)


def graphml(
    folder: Path, doctype: str = "", more: str = "", change: Callable[[str], str] = lambda t: t
) -> NodeGraph:
    (folder / "g.graphml").write_text(change(GRAPHML.format(doctype=doctype, more=more)))
    return importers.read("own", [folder / "g.graphml"])


def test_graphml_defaults_and_direction(tmp_path: Path) -> None:
    graph = graphml(tmp_path, more='<node id="k"/><edge source="n" target="k" directed="true"/>')
    assert np.asarray(graph.features).tolist() == [[1], [7], [7]]
    assert entries(graph) == [(0, 1), (0, 2), (1, 0), (1, 1)]
    assert {
        "g.graphml: 2 undirected edges stored both ways",
        "g.graphml: columns of the edges not read: weight",
    } <= set(graph.notes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"doctype": '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'},
            "declares a document type",
        ),
        ({"doctype": '<!DOCTYPE x SYSTEM "file:///etc/passwd">'}, "declares a document type"),
        ({"more": "<node id='q'><graph/></node>"}, "several or nested graphs"),
        ({"more": "<hyperedge/>"}, "hyperedges"),
        ({"more": "<edge source='n'/>"}, "edge 2 has no target"),
        ({"more": "<node/>"}, "node 2 has no id"),
        ({"more": "&nothing;"}, "cannot be read: undefined entity"),
        ({"change": lambda t: t[:-30]}, "cannot be read: (no element found|unclosed token)"),
        ({"change": lambda t: "<graphml><graph/></graphml>"}, "holds no node"),
        (
            {"change": lambda t: t.replace(">1<", ">one<")},
            "column 'a' holds 'one' at row 0, which is no number",
        ),
    ],
)
def test_faults_of_graphml(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        graphml(tmp_path, **given)


def market(folder: Path, **files: str) -> NodeGraph:
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return importers.read("own", [folder / name.replace("_", ".") for name in files])


SQUARE = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1.0\n2 3 0.5\n3 1 0\n"
WIDE = "%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4\n5\n6\n"


def test_matrices_tell_edges_from_features(tmp_path: Path) -> None:
    graph = market(tmp_path, x_mtx=WIDE, a_mtx=SQUARE, labels_txt="\none\ntwo\n")
    assert entries(graph) == [(0, 1), (1, 2)]
    assert isinstance(graph.features, CSR) and to_scipy(graph.features).toarray().tolist() == [
        [1, 4],
        [2, 5],
        [3, 6],
    ]
    assert (graph.class_names, graph.labels.tolist()) == (("one", "two"), [-1, 0, 1])
    assert "a.mtx: 1 stored zeros are no edges" in graph.notes
    symmetric = (
        SQUARE.replace("general", "symmetric")
        .replace("1 2 1.0", "2 1 1.0")
        .replace("2 3 0.5", "3 2 0.5")
    )
    labels = "%%MatrixMarket matrix array integer general\n3 1\n4\n4\n2\n"
    graph = market(
        tmp_path, features_mtx=SQUARE.replace("3 1 0", "3 1 2"), adj_mtx=symmetric, y_mtx=labels
    )
    assert entries(graph) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert (graph.num_features, graph.class_names, graph.labels.tolist()) == (
        3,
        ("2", "4"),
        [1, 1, 0],
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a_mtx": SQUARE}, r"a\.mtx comes without features"),
        ({"x_mtx": WIDE}, "a matrix of edges is square, this one is 3 x 2"),
        (
            {"a_mtx": SQUARE, "x_mtx": WIDE.replace("3 2", "2 3")},
            r"a\.mtx joins 3 nodes, but .*x\.mtx has features of 2",
        ),
        (
            {"a_mtx": SQUARE, "n_csv": "id,label,a\nx,1,2\n"},
            r"a\.mtx joins 3 nodes, but .*n\.csv has features of 1",
        ),
        ({"a_mtx": SQUARE[:-12], "x_mtx": WIDE}, r"a\.mtx cannot be read"),
        ({"a_mtx": SQUARE, "x_mtx": WIDE, "y_txt": "one\n", "z_txt": "two\n"}, "4 files are named"),
        (
            {"a_mtx": SQUARE, "x_mtx": WIDE, "y_txt": "one\ntwo\n"},
            r"labels of shape \(2,\) for 3 nodes",
        ),
    ],
)
def test_faults_of_matrices(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        market(tmp_path, **files)


# --------------------------------------------------------------------------------------------------


def test_faults_of_dgl_graphs(formats: ModuleType, tmp_path: Path) -> None:
    library = __import__("dgl")
    path = tmp_path / "g.bin"
    plain = library.graph(([0], [1]))
    for graphs, message in (
        ([plain, plain], "holds 2 graphs"),
        ([plain], "holds no features"),
        (
            [library.heterograph({("a", "to", "b"): ([0], [0])})],
            "has the node types a, b and the edge types to",
        ),
    ):
        library.save_graphs(str(path), graphs)
        with pytest.raises(TaamctlError, match=message):
            importers.read("own", [path])
    path.write_bytes(b"no such thing at all")
    with pytest.raises(TaamctlError, match="is not what dgl.save_graphs writes"):
        importers.read("own", [path])


def test_ogb_adds_inverse_edges_only_when_told(formats: ModuleType, tmp_path: Path) -> None:
    paths = formats.WRITERS["ogb"](formats.Spec(), tmp_path)
    graph = importers.read("own", paths, ImportOptions(add_inverse=True))
    assert entries(graph) == [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]
    assert "raw: every edge counts backwards too" in graph.notes
    (tmp_path / "raw" / "node-feat.csv.gz").write_bytes(
        (tmp_path / "raw" / "node-feat.csv.gz").read_bytes()[:-9]
    )
    with pytest.raises(TaamctlError, match=r"node-feat\.csv\.gz is truncated or damaged"):
        importers.read("own", paths)
