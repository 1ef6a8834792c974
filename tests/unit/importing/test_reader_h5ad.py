"""AnnData's .h5ad, as its versions write it, and files that are none."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import to_scipy
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions
from taamctl.importing.ways import Unclear

N, F = 20, 4
RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (N, F)).astype(np.float32)
EDGES = sp.random(N, N, 0.2, "csr", random_state=1)
KINDS = np.array(["T cell", "B cell"])[np.arange(N) % 2]
NAMES = [f"cell ü{i}" for i in range(N)]


def put(group: Any, name: str, value: Any) -> None:
    """Write one element as the specification says."""
    if sp.issparse(value):
        made = group.create_group(name)
        made.attrs["encoding-type"] = f"{value.format}_matrix"
        made.attrs["shape"] = value.shape
        for part in ("data", "indices", "indptr"):
            made[part] = getattr(value, part)
    elif isinstance(value, pd.Categorical):
        made = group.create_group(name)
        made.attrs["encoding-type"] = "categorical"
        made["codes"] = value.codes
        made["categories"] = value.categories.tolist()
    elif isinstance(value, pd.arrays.IntegerArray):
        made = group.create_group(name)
        made.attrs["encoding-type"] = "nullable-integer"
        made["values"], made["mask"] = value.to_numpy(na_value=1), value.isna()
    else:
        group[name] = value


def made(path: Path, x: Any = X, edges: Any = EDGES, **obs: Any) -> Path:
    obs = obs or {"cell_type": pd.Categorical(KINDS)}
    with h5py.File(path, "w") as file:
        if x is not None:
            put(file, "X", x)
        for name, index, columns in (("obs", NAMES, obs), ("var", list("abcd"), {})):
            group = file.create_group(name)
            group.attrs["_index"] = "_index"
            group.attrs["column-order"] = np.array(list(columns), h5py.string_dtype())
            put(group, "_index", index)
            for column, cells in columns.items():
                put(group, column, cells)
        for key in ("obsp", "obsm", "layers"):
            file.create_group(key)
        put(file["obsp"], "connectivities", edges)
        put(file["obsm"], "X_pca", X[:, :2] * 2)
    return path


def check(graph: NodeGraph, x: Any = X, names: tuple[str, ...] = tuple("abcd")) -> None:
    assert (to_scipy(graph.adjacency) != (EDGES != 0).T.tocsr()).nnz == 0
    features: Any = graph.features
    dense = features if isinstance(features, np.ndarray) else to_scipy(features).toarray()
    assert np.array_equal(dense, x) and graph.feature_names == names
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == NAMES
    assert [graph.class_names[label] for label in graph.labels] == KINDS.tolist()


@pytest.mark.parametrize("x", [X, sp.csr_matrix(X), sp.csc_matrix(X)])
@pytest.mark.parametrize("edges", [EDGES, EDGES.tocsc(), EDGES.toarray()])
def test_dense_and_sparse(tmp_path: Path, x: Any, edges: Any) -> None:
    check(importers.read("g", [made(tmp_path / "g.h5ad", x, edges)]))


def test_what_options_choose(tmp_path: Path) -> None:
    path = made(tmp_path / "g.h5ad")
    check(importers.read("g", [path], ImportOptions(features=("X_pca",))), X[:, :2] * 2, ())
    graph = importers.read("g", [path], ImportOptions(features=("b", "[cd]")))
    check(graph, X[:, 1:], ("b", "c", "d"))
    renamed = path.rename(tmp_path / "g.h5")
    with pytest.raises(TaamctlError, match="is an HDF5 file") as error:
        importers.read("g", [renamed])
    assert "--format h5ad" in error.value.hint
    check(importers.read("g", [renamed], kind="h5ad"))


def test_columns_of_every_kind(tmp_path: Path) -> None:
    day = pd.array([3, None, *range(N - 2)], "Int64")
    kinds = pd.Categorical([None, *KINDS[1:]])
    part = np.array(["train", "test"] * (N // 2), h5py.string_dtype())
    path = made(tmp_path / "g.h5ad", label=kinds, time=day, part=part, depth=np.arange(N) / 2)
    graph = importers.read("g", [path])
    assert graph.labels[0] == -1 and (graph.labels[1:] >= 0).all()
    assert graph.given.time is not None and np.isnan(graph.given.time[1])
    assert graph.given.time[0] == 3 and graph.given.time[2] == 0
    assert graph.given.part is not None and graph.given.part.tolist() == [0, 2] * (N // 2)
    assert any("columns not read: depth" in note for note in graph.notes)


def test_categories_as_anndata_0_7_kept_them(tmp_path: Path) -> None:
    codes = (KINDS == "T cell").astype(np.int8)
    path = made(tmp_path / "g.h5ad", label=codes)
    with h5py.File(path, "a") as file:
        put(file["obs"].create_group("__categories"), "label", ["B cell", "T cell"])
    check(importers.read("g", [path]))


def test_of_several_graphs_the_one_of_neighbours_or_the_one_named(tmp_path: Path) -> None:
    path = made(tmp_path / "g.h5ad")
    with h5py.File(path, "a") as file:
        put(file["obsp"], "distances", EDGES * 2)
    check(importers.read("g", [path]))
    with h5py.File(path, "a") as file:
        file["obsp"].move("connectivities", "near by")
    with pytest.raises(Unclear, match="obsp holds distances, near by") as error:
        importers.read("g", [path])
    assert error.value.ways == ("--source distances", "--source 'near by'")
    check(importers.read("g", [path], ImportOptions(source="near by")))
    with h5py.File(path, "a") as file:
        del file["obsp"]
    with pytest.raises(TaamctlError, match="holds no graph: obsp is empty"):
        importers.read("g", [path])


def test_what_lies_in_another_file_is_not_opened(tmp_path: Path) -> None:
    made(tmp_path / "other.h5ad")
    (tmp_path / "raw").write_bytes(bytes(4 * N * F))
    outside = h5py.ExternalLink(str(tmp_path / "other.h5ad"), "/X")
    layout = h5py.VirtualLayout((N, F), np.float32)
    layout[:] = h5py.VirtualSource(tmp_path / "other.h5ad", "X", (N, F))
    path = made(tmp_path / "g.h5ad", None)
    for make in (
        lambda file: file.__setitem__("X", outside),
        lambda file: file.create_dataset("X", (N, F), "f4", external=str(tmp_path / "raw")),
        lambda file: file.create_virtual_dataset("X", layout),
    ):
        with h5py.File(path, "a") as file:
            make(file)
        with pytest.raises(TaamctlError, match="lies in another file"):
            importers.read("g", [path])
        with h5py.File(path, "a") as file:
            del file["X"]
    with pytest.raises(TaamctlError, match="holds no features: X is empty; there are X_pca"):
        importers.read("g", [path])


def test_arrays_that_are_not_there_are_refused_before_room_is_made(tmp_path: Path) -> None:
    path = made(tmp_path / "g.h5ad", None)
    with h5py.File(path, "a") as file:
        file.create_dataset("X", (1 << 40, 1 << 10), "f4", chunks=(1, 1 << 10))
    with pytest.raises(TaamctlError, match="states 4,294,967,296 MiB, but 0 bytes are there"):
        importers.read("g", [path])


def wrong(part: str, value: Any) -> Any:
    def change(file: Any) -> None:
        del file[part]
        file[part] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (wrong("obsp/connectivities/indices", np.full(EDGES.nnz, N)), "cannot be read"),
        (wrong("obsp/connectivities/indptr", np.zeros(3, np.int32)), "cannot be read"),
        (wrong("obs/cell_type/codes", np.full(N, 9, np.int8)), "cannot be read: a code of a cat"),
        (wrong("obs/cell_type", np.zeros(3)), "has 3 cells for 20 rows"),
        (wrong("obs/_index", np.zeros((), "V4")), "is not read"),
        (wrong("obs", np.zeros(3)), "is an old table, which is not read"),
        (wrong("X", X[:3]), "20 rows of obs"),
        (wrong("X", np.zeros(N)), r"is an array \(20,\), which is not read"),
        (lambda file: file["X"].parent.pop("var"), "var is missing"),
    ],
    ids=range(9),
)
def test_a_file_that_contradicts_itself(tmp_path: Path, change: Any, message: str) -> None:
    path = made(tmp_path / "g.h5ad")
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(TaamctlError, match=message):
        importers.read("g", [path])


def test_a_file_that_is_cut_off_or_no_hdf5(tmp_path: Path) -> None:
    path = made(tmp_path / "g.h5ad")
    whole = path.read_bytes()
    for length in (8, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(TaamctlError, match="cannot be read"):
            importers.read("g", [path])
    path.write_bytes(b"x" * 100)
    with pytest.raises(TaamctlError, match="is no .h5ad file"):
        importers.read("g", [path])


def test_a_heap_of_texts_without_an_end_is_refused_before_it_is_walked(tmp_path: Path) -> None:
    path = made(tmp_path / "g.h5ad")
    content = bytearray(path.read_bytes())
    at = content.index(b"GCOL")
    content[at + 16 : at + 528] = bytes(512)  # a block of the disk that went bad
    path.write_bytes(content)
    with pytest.raises(TaamctlError, match="cannot be read"):
        importers.read("g", [path])


def test_what_anndata_itself_writes(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    anndata.settings.allow_write_nullable_strings = True  # what pandas 3 makes of text
    obs = pd.DataFrame({"cell_type": pd.Categorical(KINDS), "note": ["a"] * N}, index=NAMES)
    for x in (X, sp.csr_matrix(X)):
        data = anndata.AnnData(x, obs, pd.DataFrame(index=list("abcd")))
        data.obsp["connectivities"] = EDGES
        data.write_h5ad(tmp_path / "g.h5ad", compression="gzip")
        check(importers.read("g", [tmp_path / "g.h5ad"]))
        check(importlib.import_module("taamctl").graph_of(data))
