"""Raw-file readers: what they accept, and how they refuse."""

from __future__ import annotations

import collections
import gzip
import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR
from taamctl.graph import ogb_adapter, planetoid
from taamctl.graph.canonical import content_hash, to_scipy
from taamctl.graph.raw_values import check_size, clean_labels, dense_features, reading
from taamctl.graph.shchur_npz import read_arrays, read_npz


def small_arrays() -> dict[str, Any]:
    """Return a graph of 4 nodes: 0->1, 0->2, 2->2, 3->0; 3 features; 2 classes."""
    adjacency = sp.csr_matrix((np.ones(4, np.float32), ([0, 0, 2, 3], [1, 2, 2, 0])), shape=(4, 4))
    features = sp.csr_matrix(np.array([[1, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 3]], np.float32))
    arrays: dict[str, Any] = {"labels": np.array([0, 1, 1, 0])}
    for prefix, m in (("adj", adjacency), ("attr", features)):
        arrays |= {
            f"{prefix}_data": m.data,
            f"{prefix}_indices": m.indices,
            f"{prefix}_indptr": m.indptr,
            f"{prefix}_shape": np.array(m.shape),
        }
    return arrays


def npz(arrays: dict[str, Any], **changes: Any) -> io.BytesIO:
    """Return `arrays` with `changes` as an .npz; a change to None drops the key."""
    stream = io.BytesIO()
    np.savez(stream, **{k: v for k, v in (arrays | changes).items() if v is not None})
    stream.seek(0)
    return stream


def test_npz_rows_receive() -> None:
    graph = read_npz("small", npz(small_arrays()), "small.npz")
    dense = to_scipy(graph.adjacency).toarray()
    assert sorted(zip(*np.nonzero(dense), strict=True)) == [
        (0, 3),
        (1, 0),
        (2, 0),
        (2, 2),
    ]  # (target, source)
    assert graph.class_names == ("class 0", "class 1")
    assert isinstance(graph.features, CSR)
    assert to_scipy(graph.features).toarray()[3].tolist() == [1, 0, 3]


def test_npz_dense_features_equal_sparse() -> None:
    arrays = small_arrays()
    dense = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 0], [1, 0, 3]], np.float64)
    sparse_keys = {f"attr_{part}": None for part in ("data", "indices", "indptr", "shape")}
    graphs = [
        read_npz("small", stream, "f")
        for stream in (npz(arrays), npz(arrays, attr_matrix=dense, **sparse_keys))
    ]
    assert content_hash(graphs[0]) == content_hash(graphs[1])


def test_npz_stored_zero_is_no_edge_and_a_second_entry_is_dropped() -> None:
    arrays = small_arrays()
    zero = read_npz("small", npz(arrays, adj_data=np.array([1, 0, 1, 1])), "f")
    assert zero.adjacency.nnz == 3
    twice = read_npz("small", npz(arrays, adj_indices=np.array([1, 1, 2, 0], np.int32)), "f")
    assert (twice.adjacency.nnz, twice.notes) == (3, ("1 duplicate edges dropped",))


def test_npz_class_names_and_unlabelled() -> None:
    stream = npz(small_arrays(), class_names=np.array(["x", "y"]), unlabelled_idx=np.array([2]))
    graph = read_npz("small", stream, "f")
    assert graph.class_names == ("x", "y")
    assert graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.notes == ("1 nodes have no label",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"adj_indices": np.array([1, 9, 2, 0], np.int32)},
            r"edge 1 is \(0, 9\) but node ids run from 0 to 3",
        ),
        ({"adj_indices": np.array([1, -1, 2, 0], np.int32)}, r"edge 1 is \(0, -1\)"),
        (
            {"adj_indptr": np.array([0, 2, 2, 3])},
            r"file.npz: adj_indptr has shape \(4,\) but adj_shape is \[4, 4\]",
        ),
        ({"adj_indptr": np.array([0, 2, 1, 3, 4])}, "adj_indptr does not fit 4 column ids"),
        ({"attr_data": np.array([1, np.nan, 1, 1], np.float32)}, "feature nan at row 1, column 1"),
        ({"attr_data": np.array([1, 2, 1, np.inf], np.float32)}, "feature inf at row 3, column 2"),
        (
            {"attr_indices": np.array([0, 1, 0, 7], np.int32)},
            "feature column 7 at row 3, but columns run from 0 to 2",
        ),
        ({"attr_data": None}, "features are missing"),
        ({"labels": None}, "file.npz: no array called labels; there are: adj_data"),
        ({"labels": np.array([0, 1, 1.5, 0])}, "label 1.5 at row 2 is no whole number"),
        ({"labels": np.array([0, 1, 1])}, r"labels are int64 \(3,\)"),
        ({"labels": np.array(["a", "b"], dtype=object)}, "file.npz cannot be read: .*allow_pickle"),
        ({"unlabelled_idx": np.array([9])}, "file.npz cannot be read: index 9"),
    ],
)
def test_npz_faults_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        read_npz("small", npz(small_arrays(), **changes), "file.npz")


@pytest.mark.parametrize("keep", [0, 10, 300, -30])
def test_truncated_npz_names_the_file(keep: int) -> None:
    with pytest.raises(TaamctlError, match="file.npz cannot be read"):
        read_npz("small", io.BytesIO(npz(small_arrays()).getvalue()[:keep]), "file.npz")


def test_read_arrays_leaves_pickled_objects_alone() -> None:
    stream = npz({"good": np.arange(3), "bad": np.array([{}], dtype=object)})
    assert read_arrays(stream, "f", ("good",))["good"].tolist() == [0, 1, 2]


def test_labels() -> None:
    assert clean_labels(np.array([[2.0], [np.nan], [-1.0]]), "f")[0].tolist() == [2, -1, -1]
    for kind in (np.uint8, np.int16, np.uint64, np.float16):
        labels, notes = clean_labels(np.array([3, 0], kind), "f")
        assert (labels.dtype, labels.tolist(), notes) == (np.int64, [3, 0], ())
    with pytest.raises(TaamctlError, match=r"f: labels are int64 \(2, 2\)"):
        clean_labels(np.zeros((2, 2), np.int64), "f")


def test_dense_features() -> None:
    x, notes = dense_features(np.arange(6, dtype=np.float64).reshape(3, 2), "f")
    assert (x.dtype, notes) == (np.float32, ("features cast from float64 to float32",))
    assert dense_features(x, "f")[1] == ()
    with pytest.raises(TaamctlError, match="f: features are <U1"):
        dense_features(np.array([["a"]]), "f")


def test_check_size_refuses_another_graph() -> None:
    graph = read_npz("small", npz(small_arrays()), "f")
    assert check_size(graph, 4, 3, "f") is graph
    with pytest.raises(TaamctlError, match="f holds 4 nodes with 3 features; small has 5 with 3"):
        check_size(graph, 5, 3, "f")


def test_reading_keeps_our_own_errors() -> None:
    with pytest.raises(TaamctlError, match="^mine$"), reading("file"):
        raise TaamctlError("mine", "")


class Evil:
    """Runs a command when unpickled by an unguarded reader."""

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.system, ("exit 3",)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Evil(), "(posix|nt).system"),
        (eval, "(__builtin__|builtins).eval"),
        (getattr, "(__builtin__|builtins).getattr"),
        (np.load, "numpy.load"),
        ({"graph": Evil()}, "(posix|nt).system"),
        (collections.OrderedDict(), "collections.OrderedDict"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 4])
def test_malicious_pickle_is_refused_by_name(value: Any, name: str, protocol: int) -> None:
    with pytest.raises(TaamctlError, match=f"ind.x: refused to construct {name}"):
        planetoid.load_pickle(io.BytesIO(pickle.dumps(value, protocol)), "ind.x")


@pytest.mark.parametrize("protocol", [0, 1])
def test_arrays_of_the_oldest_protocols_are_unpickled(protocol: int) -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = planetoid.load_pickle(io.BytesIO(pickle.dumps(value, protocol)), "f")
    assert np.array_equal(got, value)


@pytest.mark.parametrize(
    "value", [np.arange(3.0), sp.csr_matrix(np.eye(3)), collections.defaultdict(list, {0: [1]})]
)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_arrays_and_lists_are_unpickled(value: Any, protocol: int) -> None:
    got = planetoid.load_pickle(io.BytesIO(pickle.dumps(value, protocol)), "f")
    assert type(got) is type(value)
    assert abs(got - value).sum() == 0 if not isinstance(value, dict) else got == value


@pytest.mark.parametrize(
    "data", [b"", b"\x80\x02", b"not a pickle", pickle.dumps(np.arange(99.0), 4)[:-20]]
)
def test_truncated_pickle_names_the_file(data: bytes) -> None:
    with pytest.raises(TaamctlError, match="ind.x cannot be read"):
        planetoid.load_pickle(io.BytesIO(data), "ind.x")


def planetoid_parts() -> dict[str, Any]:
    """Return 2 known nodes and test rows for ids 4 and 2: node 3 has no row."""
    return {
        "allx": sp.csr_matrix([[1, 0], [0, 1]]),
        "ally": np.array([[1, 0, 0], [0, 1, 0]]),
        "tx": sp.csr_matrix([[0, 5], [7, 0]]),
        "ty": np.array([[0, 0, 1], [1, 0, 0]]),
        "graph": collections.defaultdict(list, {0: [1, 1, 4], 4: [4]}),
    }


def test_planetoid_puts_test_rows_at_their_ids() -> None:
    graph = planetoid.assemble("p", planetoid_parts(), np.array([4, 2]), "f")
    assert isinstance(graph.features, CSR)
    assert to_scipy(graph.features).toarray().tolist() == [[1, 0], [0, 1], [7, 0], [0, 0], [0, 5]]
    assert graph.labels.tolist() == [0, 1, 0, -1, 2]
    assert sorted(zip(*np.nonzero(to_scipy(graph.adjacency).toarray()), strict=True)) == [
        (1, 0),
        (4, 0),
        (4, 4),
    ]
    assert graph.notes == ("1 duplicate edges dropped", "1 nodes have no label")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph": {0: [7]}}, r"edge 0 is \(0, 7\) but node ids run from 0 to 4"),
        ({"tx": sp.csr_matrix([[0, 5]])}, "f: the parts do not fit together: 2 test ids"),
        ({"tx": sp.csr_matrix([[0, 5, 1], [1, 1, 1]])}, "f cannot be read: .*dimension"),
        ({"allx": [[1]]}, "f cannot be read"),
    ],
)
def test_planetoid_faults(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        planetoid.assemble("p", planetoid_parts() | changes, np.array([4, 2]), "f")


def test_bad_index_line() -> None:
    with pytest.raises(TaamctlError, match="test.index cannot be read: invalid literal"):
        planetoid.load_index(io.BytesIO(b"1\nx\n"), "test.index")


OGB_EDGES = np.array([[0, 1, 2, 2], [1, 2, 0, 2]])
OGB_FEATURES = np.array([[0.5, 1], [0.25, -1], [2, 3]], np.float32)
OGB_LABELS = np.array([[1.0], [np.nan], [0.0]])


def write_csv(folder: Path) -> Path:
    """Write the OGB csv layout."""
    folder.mkdir(parents=True)
    tables: tuple[Any, ...] = (OGB_EDGES.T, OGB_FEATURES, OGB_LABELS, [[3]], [[4]])
    for name, table in zip(ogb_adapter.CSV_FILES, tables, strict=True):
        lines = "".join(
            ",".join("" if np.isnan(v) else f"{v:g}" for v in row) + "\n" for row in table
        )
        (folder / name).write_bytes(gzip.compress(lines.encode(), mtime=0))
    return folder


def write_binary(folder: Path) -> Path:
    """Write the OGB binary layout."""
    folder.mkdir(parents=True)
    np.savez(
        folder / "data.npz",
        edge_index=OGB_EDGES,
        node_feat=OGB_FEATURES,
        num_nodes_list=[3],
        num_edges_list=[4],
    )
    np.savez(folder / "node-label.npz", node_label=OGB_LABELS)
    return folder


@pytest.mark.parametrize(
    ("dataset", "entries"),
    [
        ("ogbn-arxiv", [(0, 2), (1, 0), (2, 1), (2, 2)]),
        ("ogbn-products", [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)]),
    ],
)
def test_ogb_layouts_agree(
    tmp_path: Path, dataset: str, entries: list[tuple[int, int]], capfd: pytest.CaptureFixture[str]
) -> None:
    graphs = [
        ogb_adapter.read_ogb("x", dataset, folder, "f", ("a", "b"))
        for folder in (write_csv(tmp_path / "csv"), write_binary(tmp_path / "bin"))
    ]
    assert content_hash(graphs[0]) == content_hash(graphs[1])
    assert sorted(zip(*np.nonzero(to_scipy(graphs[0].adjacency).toarray()), strict=True)) == entries
    assert graphs[0].labels.tolist() == [1, -1, 0]
    assert capfd.readouterr() == ("", "")


def test_ogb_faults_name_the_file(tmp_path: Path) -> None:
    folder = write_csv(tmp_path / "raw")
    whole = (folder / "edge.csv.gz").read_bytes()
    (folder / "edge.csv.gz").write_bytes(whole[:-9])
    with pytest.raises(TaamctlError, match="^here: edge.csv.gz is truncated or damaged"):
        ogb_adapter.read_ogb("x", "ogbn-arxiv", folder, "here", ("a", "b"))
    (folder / "edge.csv.gz").write_bytes(gzip.compress(b"0,1\n1,2\n"))
    with pytest.raises(
        TaamctlError, match="here cannot be read: 4 edges are announced, 2 are there"
    ):
        ogb_adapter.read_ogb("x", "ogbn-arxiv", folder, "here", ("a", "b"))
    (folder / "edge.csv.gz").unlink()
    with pytest.raises(TaamctlError, match="here: edge.csv.gz is missing"):
        ogb_adapter.read_ogb("x", "ogbn-arxiv", folder, "here", ("a", "b"))


def test_ogb_flags_come_from_its_table_without_importing_it() -> None:
    code = (
        "import sys; from taamctl.graph.ogb_adapter import flags; "
        "print(*(flags(f'ogbn-{n}')['add_inverse_edge'] for n in ('products', 'arxiv')), 'ogb' in "
        "sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert done.stdout.split() == ["True", "False", "False"]
    with pytest.raises(TaamctlError, match="does not know ogbn-nothing"):
        ogb_adapter.flags("ogbn-nothing")


def test_ogb_import_does_not_look_for_updates(tmp_path: Path) -> None:
    folder = write_csv(tmp_path / "raw")
    code = (
        "import sys; from pathlib import Path; from taamctl.graph.ogb_adapter import read_ogb; "
        f"read_ogb('x', 'ogbn-arxiv', Path({str(folder)!r}), 'f', ('a', 'b')); "
        "print('outdated' in sys.modules, sys.modules['ogb.version'].check_outdated)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert done.stdout.split() == ["False", "None"]


def test_missing_ogb_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TaamctlError, match="reading ogbn-arxiv needs the package ogb"):
        ogb_adapter.flags("ogbn-arxiv")
