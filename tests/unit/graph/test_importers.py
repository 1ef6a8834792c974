"""Users' own graphs: every situation of the field, in every format that can express it."""

from __future__ import annotations

import gzip
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.graph.canonical import content_hash, to_scipy
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions

spec_of = importlib.util.spec_from_file_location(
    "taamctl_tests_formats", Path(__file__).with_name("formats.py")
)
assert spec_of is not None and spec_of.loader is not None
formats = importlib.util.module_from_spec(spec_of)
sys.modules[spec_of.name] = formats
spec_of.loader.exec_module(formats)
pytestmark = pytest.mark.usefixtures("quick_readers")
Spec, WRITERS, ALL, TABLES = formats.Spec, formats.WRITERS, formats.ALL, formats.TABLES


def every(*without: Any) -> Any:
    """Run a test for every format but those of `without`."""
    return pytest.mark.parametrize("kind", sorted(ALL - frozenset().union(*without)))


def bring(
    kind: str, folder: Path, spec: Any = None, options: ImportOptions | None = None, **more: Any
) -> NodeGraph:
    return importers.read("own", WRITERS[kind](spec or Spec(), folder), options, **more)


def dense(x: Any) -> np.ndarray:
    return to_scipy(x).toarray() if isinstance(x, CSR) else x


def entries(graph: NodeGraph) -> list[tuple[int, int]]:
    """Return the edges as (source, target)."""
    target, source = np.nonzero(to_scipy(graph.adjacency).toarray())
    return sorted(zip(source.tolist(), target.tolist(), strict=True))


def said(graph: NodeGraph, pattern: str) -> bool:
    return any(re.search(pattern, note) for note in graph.notes)


@every()
def test_the_same_graph_from_every_format(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path)
    assert entries(graph) == [(0, 1), (1, 0), (1, 2), (2, 3)]
    assert (
        dense(graph.features).tolist() == Spec().x.tolist()
        and dense(graph.features).dtype == np.float32
    )
    assert (graph.labels.tolist(), graph.class_names) == ([1, 0, 1, 0], ("0", "1"))
    assert graph.given.node_id is None and graph.given.part is None and graph.given.arrival is None
    assert said(graph, r"^2 of 4 edges have no reverse")
    assert not any(str(tmp_path) in note for note in graph.notes)


# --------------------------------------------------------------------------------------------------


@every(formats.NO_TEXT_LABELS)
def test_text_labels_are_sorted_and_kept(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(y=["pear", "Apple", "fig tree", "Apple"]))
    assert (graph.class_names, graph.labels.tolist()) == (
        ("Apple", "fig tree", "pear"),
        [2, 0, 1, 0],
    )


@every()
def test_labels_that_look_like_numbers_sort_as_numbers_and_are_renumbered(
    kind: str, tmp_path: Path
) -> None:
    graph = bring(kind, tmp_path, Spec(y=np.array([10, 9, 0, 10])))
    assert (graph.class_names, graph.labels.tolist()) == (("0", "9", "10"), [2, 1, 0, 2])
    assert said(graph, r"^labels 0\.\.10 renumbered 0\.\.2")


@every()
@pytest.mark.parametrize("missing", [-1, np.nan])
def test_minus_one_nan_and_empty_mean_unlabelled(kind: str, missing: float, tmp_path: Path) -> None:
    y = np.array([5, missing, 0, missing]) if np.isnan(missing) else np.array([5, -1, 0, -1])
    graph = bring(kind, tmp_path, Spec(y=y))
    assert (graph.class_names, graph.labels.tolist()) == (("0", "5"), [1, -1, 0, -1])
    assert said(graph, "^2 nodes have no label")


@every(formats.ONE_COLUMN_LABELS)
def test_labels_in_a_column_matrix_and_one_hot(kind: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    column = bring(kind, tmp_path, Spec(y=np.array([[1], [0], [1], [0]])))
    hot = bring(kind, tmp_path / "b", Spec(y=np.array([[0, 1], [1, 0], [0, 1], [0, 0]])))
    assert (column.labels.tolist(), hot.labels.tolist()) == ([1, 0, 1, 0], [1, 0, 1, -1])
    assert said(hot, "one-hot") and said(hot, "^1 nodes have no label")
    assert said(column, r"labels of shape \(4, 1\) taken as one per node")


@every()
def test_float_labels_are_taken_if_they_are_whole(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(y=np.array([3.0, 0.0, 3.0, 0.0])))
    assert (graph.class_names, graph.labels.tolist()) == (("0", "3"), [1, 0, 1, 0])
    assert said(graph, "stored as floats taken as classes")
    (tmp_path / "b").mkdir()
    with pytest.raises(TaamctlError, match=r"label 3\.5 at row 2 is no whole number"):
        bring(kind, tmp_path / "b", Spec(y=np.array([3.0, 0.0, 3.5, 0.0])))


@every()
def test_large_labels_do_not_collide(kind: str, tmp_path: Path) -> None:
    big = 2**53
    graph = bring(kind, tmp_path, Spec(y=np.array([big, big + 1, big, big + 1])))
    assert (graph.class_names, graph.labels.tolist()) == ((str(big), str(big + 1)), [0, 1, 0, 1])


# --------------------------------------------------------------------------------------------------


@every()
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_features_that_are_not_finite(kind: str, value: float, tmp_path: Path) -> None:
    x = Spec().x.copy()
    x[2, 1] = value
    (tmp_path / "b").mkdir()
    with pytest.raises(TaamctlError, match=f"feature {value} at row 2, column 1") as error:
        bring(kind, tmp_path, Spec(x=x))
    assert "--nan zero" in error.value.hint
    graph = bring(kind, tmp_path / "b", Spec(x=x), ImportOptions(nan="zero"))
    assert dense(graph.features)[2].tolist() == [0.25, 0]
    assert said(graph, "^1 feature values that were not finite taken as 0")


@every(TABLES, {"mtx", "mtx_features", "graphml", "ogb"})
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "bool"])
def test_features_of_other_types_are_taken_as_float32_and_said_once(
    kind: str, dtype: str, tmp_path: Path
) -> None:
    if (kind, dtype) in (("benchmark", "float16"), ("dgl", "bool")):
        pytest.skip("scipy has no sparse float16, and DGL keeps truth values as uint8")
    x = np.array([[1, 0], [0, 1], [0, 0], [1, 1]], dtype)
    graph = bring(kind, tmp_path, Spec(x=x))
    assert dense(graph.features).tolist() == x.astype(float).tolist()
    assert [n for n in graph.notes if "float32" in n] == [f"features cast from {dtype} to float32"]


@pytest.mark.parametrize("kind", sorted(TABLES | {"graphml", "mtx"}))
def test_whole_numbers_and_truth_values_in_columns(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(x=[[1, True], [0, False], [7, True], [2, False]]))
    assert dense(graph.features).tolist() == [[1, 1], [0, 0], [7, 1], [2, 0]]
    assert len([n for n in graph.notes if "to float32" in n]) == 1


@pytest.mark.parametrize("kind", ["benchmark", "pt", "pyg", "mtx_features"])
def test_sparse_features_stay_sparse(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(x=sp.csr_matrix(Spec().x)))
    assert isinstance(graph.features, CSR) and graph.features.nnz == 6
    assert dense(graph.features).tolist() == Spec().x.tolist()


@pytest.mark.parametrize("kind", sorted(TABLES | {"graphml", "mtx"}))
def test_text_among_the_features_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    with pytest.raises(
        TaamctlError, match="column 'x1' holds 'Oslo' at row 1, which is no number"
    ) as error:
        bring(kind, tmp_path, Spec(x=[[1, "2"], [2, "Oslo"], [3, "4"], [4, "5"]]))
    assert "--ignore x1" in error.value.hint
    (tmp_path / "b").mkdir()
    graph = bring(
        kind,
        tmp_path / "b",
        Spec(x=[[1, "2"], [2, "Oslo"], [3, "4"], [4, "5"]]),
        ImportOptions(ignore=("x1",)),
    )
    assert graph.num_features == 1 and said(graph, "columns not read: x1")


# --------------------------------------------------------------------------------------------------


@every({"dgl"})  # which counts its nodes itself
def test_an_edge_to_a_node_without_features_is_refused_with_counts(
    kind: str, tmp_path: Path
) -> None:
    message = {
        "mtx": "cannot be read",
        "mtx_features": "cannot be read",
        "graphml": r"\('7'; first at edge 1\); the node table has 4",
    }
    with pytest.raises(
        TaamctlError, match=message.get(kind, r"edge 1 is \(1, 7\).*(4 nodes|0 to 3)")
    ):
        bring(kind, tmp_path, Spec(edges=[(0, 1), (1, 7), (2, 3)]))


@every({"dgl", "benchmark"})
def test_a_negative_id_is_refused(kind: str, tmp_path: Path) -> None:
    message = {
        "mtx": "cannot be read",
        "mtx_features": "cannot be read",
        "graphml": r"\('-1'; first at edge 1\); the node table has 4",
    }
    with pytest.raises(TaamctlError, match=message.get(kind, r"edge 1 is \(1, -1\)")):
        bring(kind, tmp_path, Spec(edges=[(0, 1), (1, -1), (2, 3)]))


@pytest.mark.parametrize("kind", sorted(TABLES | {"graphml"}))
def test_named_nodes_in_the_edges_only_are_refused_with_counts(kind: str, tmp_path: Path) -> None:
    with pytest.raises(
        TaamctlError,
        match=r"2 nodes stand in the edges only \('x', 'y'; first at edge 1\); the node table has "
        "4",
    ):
        bring(kind, tmp_path, Spec(ids=list("abcd"), edges=[(0, 1), ("x", 2), (1, "y")]))


@every()
def test_duplicate_edges_are_dropped_and_self_loops_kept(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(edges=[(0, 1), (0, 1), (2, 2), (1, 0)]))
    assert entries(graph) == [(0, 1), (1, 0), (2, 2)]  # node 3 is isolated
    assert said(graph, "^1 duplicate edges dropped") and said(graph, "^1 self-loops kept")
    assert not said(graph, "no reverse")


@pytest.mark.parametrize("kind", ["npz", "dgl", "pt", "pyg", "ogb_binary"])
def test_int32_ids_are_taken(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = formats.arrays
    monkeypatch.setattr(
        formats,
        "arrays",
        lambda spec: {
            k: v.astype(np.int32) if k == "edge_index" else v for k, v in plain(spec).items()
        },
    )
    assert len(entries(bring(kind, tmp_path))) == 4


@every({"dgl", "mtx_features", "mtx", "graphml", "benchmark"}, TABLES)
def test_fewer_labels_than_nodes(kind: str, tmp_path: Path) -> None:
    paths = (
        _short_labels(kind, tmp_path)
        if kind.startswith("ogb")
        else WRITERS[kind](Spec(y=np.array([1, 0, 1])), tmp_path)
    )
    with pytest.raises(TaamctlError, match=r"labels of shape \(3.*\) for 4 nodes"):
        importers.read("own", paths)


def _short_labels(kind: str, folder: Path) -> list[Path]:
    paths: list[Path] = WRITERS[kind](Spec(), folder)
    if kind == "ogb":
        (folder / "raw" / "node-label.csv.gz").write_bytes(gzip.compress(b"1\n0\n1\n"))
    else:
        np.savez(folder / "raw" / "node-label.npz", node_label=np.array([[1], [0], [1]]))
    return paths


# --------------------------------------------------------------------------------------------------


@every(formats.NO_NAMES)
def test_names_of_nodes_are_kept(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(ids=["d", "007", "7", "é a"]))
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == [
        "d",
        "007",
        "7",
        "é a",
    ]
    assert entries(graph) == [(0, 1), (1, 0), (1, 2), (2, 3)]
    with pytest.raises(TaamctlError, match="the node id 'd' stands twice, at rows 0 and 2"):
        bring(kind, tmp_path, Spec(ids=["d", "b", "d", "a"]))


@pytest.mark.parametrize("kind", ["npz", "mtx"])
def test_names_in_other_formats(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(ids=list("dcba")))
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == list("dcba")
    assert entries(graph) == [(0, 1), (1, 0), (1, 2), (2, 3)]


@every(formats.NO_PARTS)
def test_parts_and_times_are_kept(kind: str, tmp_path: Path) -> None:
    graph = bring(
        kind, tmp_path, Spec(part=["train", "", "test", "val"], time=[2001, 2002, 2000, 2003])
    )
    assert graph.given.part is not None and graph.given.part.tolist() == [0, -1, 2, 1]
    assert graph.given.time is not None and graph.given.time.tolist() == [2001, 2002, 2000, 2003]
    assert graph.given.time.dtype == np.float64 and graph.given.part.dtype == np.int8


@pytest.mark.parametrize("kind", sorted(formats.NO_PARTS))
def test_years_of_ogb_are_times(kind: str, tmp_path: Path) -> None:
    graph = bring(kind, tmp_path, Spec(time=[2001, 2002, 2000, 2003]))
    assert graph.given.time is not None and graph.given.time.tolist() == [2001, 2002, 2000, 2003]


@every()
def test_tasks_and_a_split_from_tables_of_their_own(kind: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("class,task\n1,3\n0,20\n")
    (tmp_path / "split.csv").write_text("id,part\n3,Validation\n0,train\n3,valid\n")
    graph = bring(kind, tmp_path, tasks=tmp_path / "tasks.csv", split=tmp_path / "split.csv")
    assert graph.given.arrival is not None and graph.given.arrival.tolist() == [
        1,
        0,
    ]  # class 1 comes first, 3 < 20
    assert graph.given.part is not None and graph.given.part.tolist() == [0, -1, -1, 1]
    (tmp_path / "split.csv").write_text("3,test\n0,train\n3,val\n")
    with pytest.raises(TaamctlError, match="the node '3' is in test and in val"):
        importers.read("own", _paths(kind, tmp_path), split=tmp_path / "split.csv")


def _paths(kind: str, folder: Path) -> list[Path]:
    (folder / "again").mkdir()
    paths: list[Path] = WRITERS[kind](Spec(), folder / "again")
    return paths


@every({"ogb", "ogb_binary"}, TABLES, {"mtx", "mtx_features", "graphml"})
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.8])
def test_a_truncated_file_is_named(kind: str, keep: float, tmp_path: Path) -> None:
    (path,) = WRITERS[kind](Spec(), tmp_path)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
    with pytest.raises(TaamctlError, match=f"{path.name} (is|cannot)"):
        importers.read("own", [path])


@every()
def test_a_missing_file_is_named(kind: str, tmp_path: Path) -> None:
    paths = WRITERS[kind](Spec(), tmp_path)
    missing = next(p for p in reversed(paths))
    if missing.is_dir():
        missing = next(iter(sorted(missing.rglob("*label*"))))
    missing.unlink()
    with pytest.raises(TaamctlError, match=f"{missing.name} is (not there|missing)"):
        importers.read("own", paths)


def test_a_graph_does_not_depend_on_its_format(tmp_path: Path) -> None:
    dense_ones = sorted(ALL - {"benchmark", "mtx_features"})
    found = set()
    for kind in dense_ones:
        (tmp_path / kind).mkdir()
        found.add(content_hash(bring(kind, tmp_path / kind)))
    assert len(found) == 1
