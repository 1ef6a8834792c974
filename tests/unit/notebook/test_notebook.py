"""What `import taamctl` offers to Python code: it runs, it gives tables and figures, and graphs go
out and come back.
"""

from __future__ import annotations

import doctest
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

import taamctl
from taamctl.bank import graph_source
from taamctl.core.errors import TaamctlError
from taamctl.exporting.whole import whole_of
from taamctl.exporting.writer_pyg import tensors
from taamctl.notebook import results_frame, run_here


def drawn(seed: int, *, sparse: bool) -> taamctl.NodeGraph:
    rng = np.random.default_rng(seed)
    n = 40
    edges = sp.random(n, n, 0.1, random_state=rng, format="csr")
    x = np.round(rng.random((n, 6)) * (rng.random((n, 6)) < 0.4), 2).astype(np.float32)
    features = sp.csr_matrix(x) if sparse else x
    return taamctl.graph_of(edges, x=features, y=rng.integers(0, 4, n), name="drawn")


def same(one: taamctl.NodeGraph, other: taamctl.NodeGraph) -> bool:
    first, second = taamctl.to_scipy(one), taamctl.to_scipy(other)
    dense = [x.toarray() if sp.issparse(x) else x for _, x in (first, second)]
    names = [[g.class_names[c] for c in g.labels] for g in (one, other)]
    return (
        (first[0] != second[0]).nnz == 0
        and np.array_equal(*dense)
        and [str(n) for n in names[0]] == [str(n) for n in names[1]]
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_a_graph_goes_out_to_scipy_and_comes_back(sparse: bool) -> None:
    graph = drawn(1, sparse=sparse)
    edges, x = taamctl.to_scipy(graph)
    assert sp.issparse(x) == sparse
    back = taamctl.graph_of(edges, x=x, y=[graph.class_names[c] for c in graph.labels])
    assert same(graph, back)


def test_a_graph_goes_out_as_tensors_and_as_a_data_of_pyg_and_comes_back() -> None:
    graph = drawn(2, sparse=False)
    assert same(graph, taamctl.graph_of(tensors(whole_of(graph)), ends="rows"))
    pytest.importorskip("torch_geometric")
    data = taamctl.to_pyg(graph)
    assert data.num_nodes == 40  # type: ignore[attr-defined]
    assert same(graph, taamctl.graph_of(data))


def test_a_graph_goes_out_to_dgl_and_comes_back() -> None:
    pytest.importorskip("dgl")
    graph = drawn(3, sparse=True)
    made = taamctl.to_dgl(graph)
    assert made.num_nodes() == 40  # type: ignore[attr-defined]
    back = taamctl.graph_of(made, features=["x"], label="y")
    assert same(graph, back)


def test_results_are_a_table_whose_numbers_are_those_of_the_evaluations(
    tmp_path: Path, made_up: ModuleType
) -> None:
    study = made_up.Study(("one", "two"), {"a": 0.9, "b": 0.5}, (1, 2))
    made_up.write(tmp_path, study)
    found = taamctl.load_results(tmp_path)
    assert len(found) == 8
    for row in found.itertuples():
        test = made_up.evaluation(study, row.dataset, row.method, row.seed).parts["test"]
        assert row.aa == test.scopes[row.scope]["balanced"].aa
        assert row.aa_all_seen == test.scopes["all_seen"]["balanced"].aa
        assert row.af_task_only == test.scopes["task_only"]["balanced"].af
    some = taamctl.load_results(tmp_path, datasets=["two"], seeds=[2])
    assert set(zip(some.dataset, some.seed, strict=True)) == {("two", 2)}
    best = found.groupby("method").aa_all_seen.mean()
    assert best["a"] > best["b"]
    with pytest.raises(TaamctlError, match="no evaluation"):
        taamctl.load_results(tmp_path, methods=["c"])


def test_a_figure_is_a_matplotlib_object_of_the_data_set_that_is_meant(
    tmp_path: Path, made_up: ModuleType
) -> None:
    made_up.write(tmp_path, made_up.Study(("one", "two"), {"a": 0.9, "b": 0.5}, (1,)))
    figure = taamctl.figure("best", "two", tmp_path)
    assert figure.get_suptitle() == "two: which method is best"
    figure.savefig(tmp_path / "best.pdf")
    with pytest.raises(TaamctlError, match="which data set") as caught:
        taamctl.figure("best", outputs=tmp_path)
    assert "one, two" in caught.value.hint
    with pytest.raises(TaamctlError, match="no kind of figure is called 'bset'"):
        taamctl.figure("bset", "two", tmp_path)


def test_a_bank_answers_arrays_as_it_answers_the_file(tmp_path: Path) -> None:
    archive = Path(__file__).resolve().parents[2] / "archive" / "graph-3.zip"
    with zipfile.ZipFile(archive) as entry:
        entry.extractall(tmp_path)
    bank, file = tmp_path / "bank", tmp_path / "data" / "tiny.h5"
    graph = graph_source.from_file(file).graph
    edges, x = taamctl.to_scipy(graph)
    frame = x.toarray() if sp.issparse(x) else x
    options = {"feature_names": list(graph.feature_names)} if graph.feature_names else {}
    asked = taamctl.load_bank(bank).predict(file)
    answered = taamctl.predict(
        bank, {"x": frame, "edge_index": np.stack(edges.nonzero())} | options
    )
    assert np.array_equal(asked.label, answered.label)
    assert np.array_equal(asked.confidence, answered.confidence)
    assert taamctl.score(answered, graph) == taamctl.score(asked, file)


def test_examples_in_docstrings_give_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tried = 0
    for module in (run_here, results_frame):  # in this order: the second reads what the first made
        found = doctest.testmod(module)
        assert found.failed == 0
        tried += found.attempted
    assert tried == 8
