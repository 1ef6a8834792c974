"""MATLAB's .mat files, in the layouts of DeepWalk and GPN."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import guarded, importers
from taamctl.importing.options import ImportOptions

A = sp.csc_matrix(np.array([[0, 1, 0], [1, 0, 2], [0, 0, 0]], float))
X = np.array([[1.5, 0], [0, 2], [3, 4]])


def save(folder: Path, options: ImportOptions | None = None, **matrices: Any) -> NodeGraph:
    path = folder / "g.mat"
    scipy.io.savemat(path, matrices)
    return importers.read("g", [path], options)


@pytest.mark.parametrize("labels", [[[1], [2], [1]], [[1, 2, 1]]])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csc_matrix])
def test_the_layout_of_gpn(tmp_path: Path, labels: list[list[int]], wrap: Any) -> None:
    graph = save(tmp_path, Network=A, Attributes=wrap(X), Label=np.array(labels))
    assert (graph.num_nodes, graph.num_features, graph.adjacency.nnz) == (3, 2, 3)
    assert (graph.class_names, graph.labels.tolist()) == (("1", "2"), [0, 1, 0])
    assert "g.mat: edges from 'Network'" in graph.notes


def test_the_layout_of_deepwalk_and_keys_by_option(tmp_path: Path) -> None:
    group = sp.csc_matrix(np.array([[1, 0], [0, 1], [1, 0]], float))
    with pytest.raises(TaamctlError, match="holds no features"):
        save(tmp_path, network=A, group=group)
    graph = save(tmp_path, network=A, group=group, X=X, other={"a": 1})
    assert graph.labels.tolist() == [0, 1, 0]
    told = ImportOptions(source="B", features=("Z",), label="kind")
    graph = save(tmp_path, told, B=A.toarray(), Z=X, kind=np.array([0, 1, 1]))
    assert (graph.labels.tolist(), graph.adjacency.nnz) == ([0, 1, 1], 3)


def test_a_parser_that_ends_its_process_ends_no_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, A=A, X=X)
    monkeypatch.setattr(guarded, "_CALL", "import os; os.abort()")
    with pytest.raises(TaamctlError, match=r"g\.mat cannot be read: its parser stopped"):
        importers.read("g", [tmp_path / "g.mat"])


def test_faults_of_mat_files(tmp_path: Path) -> None:
    with pytest.raises(TaamctlError, match="holds no matrix of edges: none of X is called"):
        save(tmp_path, X=X)
    with pytest.raises(TaamctlError, match="'A' is 3 x 2, but a matrix of edges is square"):
        save(tmp_path, A=X, X=X)
    path = tmp_path / "g.mat"
    path.write_bytes(path.read_bytes()[:150])
    with pytest.raises(TaamctlError, match=r"g\.mat cannot be read"):
        importers.read("g", [path])
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(TaamctlError, match="is an HDF5 file"):
        importers.read("g", [path])
