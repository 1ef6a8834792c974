"""One graph, drawn at random, is read as the same graph from every format and object that holds
it.
"""

from __future__ import annotations

import importlib
import json
import pickle
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import taamctl
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import to_scipy
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions

AWKWARD = ["ü", "a b", 'say "no"', "it's", "x,y", "007", "日本", "#1", "-", "A" * 40]


class Case(NamedTuple):
    """A graph: names of nodes, features [N, 3] of whole numbers, classes, edges [2, E]."""

    ids: np.ndarray
    x: np.ndarray
    y: np.ndarray
    edges: np.ndarray

    def adjacency(self) -> sp.csr_matrix:
        n = len(self.ids)
        return sp.coo_matrix((np.ones(len(self.edges[0])), self.edges), (n, n)).tocsr()


def drawn(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    ids = np.array([f"{AWKWARD[i % len(AWKWARD)]}{i}" for i in rng.permutation(n)])
    x = rng.integers(0, 4, (n, 3)).astype(np.float64)
    x[0] = 3, 0, 1  # the last feature and the first stand somewhere
    y = np.array(["maths", "law", "art, new"])[np.arange(n) % 3]
    pairs = np.unique(rng.integers(0, n, (4 * n, 2)), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return Case(ids, x, y, rng.permutation(pairs).T)


def check(graph: NodeGraph, case: Case, *, named: bool = True, classes: bool = True) -> None:
    """Compare up to the numbers of the classes."""
    assert (to_scipy(graph.adjacency) != case.adjacency().T.tocsr()).nnz == 0  # rows are targets
    features: Any = graph.features
    dense = features if isinstance(features, np.ndarray) else to_scipy(features).toarray()
    assert np.array_equal(dense, case.x)
    found = [graph.class_names[label] for label in graph.labels.tolist()]
    if classes:
        assert found == case.y.tolist()
    assert len(set(zip(found, case.y.tolist(), strict=True))) == 3
    if named:
        assert graph.given.node_id is not None
        assert graph.given.node_id.tolist() == case.ids.tolist()


def frames(case: Case) -> tuple[pd.DataFrame, pd.DataFrame]:
    nodes = pd.DataFrame(case.x, columns=["a", "b c", "ü"])
    nodes.insert(0, "id", case.ids)
    nodes["label"] = case.y
    ends = case.ids[case.edges]
    return nodes, pd.DataFrame({"source": ends[0], "target": ends[1]})


SEEDS = pytest.mark.parametrize("seed", range(3))


@SEEDS
def test_parquet_and_arrow_as_files_streams_and_parts(tmp_path: Path, seed: int) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet, feather = map(importlib.import_module, ("pyarrow.parquet", "pyarrow.feather"))

    case = drawn(seed)
    tables = dict(zip(("nodes", "edges"), map(pa.Table.from_pandas, frames(case)), strict=True))
    for name, table in tables.items():
        parquet.write_table(table, tmp_path / f"{name}.parquet")
        feather.write_feather(table, tmp_path / f"{name}.feather")
        with pa.ipc.new_stream(tmp_path / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
        (tmp_path / "parts" / name).mkdir(parents=True)
        for part, at in enumerate(range(0, len(table), 3)):  # more than ten: 2 comes before 10
            feather.write_feather(table[at : at + 3], tmp_path / f"parts/{name}/{part}.feather")
    (tmp_path / "parts/nodes/_SUCCESS").write_text("")
    for left in ("parquet", "feather", "arrow"):
        for right in ("parquet", "arrow"):
            paths = [tmp_path / f"nodes.{left}", tmp_path / f"edges.{right}"]
            check(importers.read("g", paths), case)
    check(importers.read("g", [tmp_path / "parts"]), case)
    check(importers.read("g", [tmp_path / "parts/edges", tmp_path / "parts/nodes"]), case)
    check(importers.read("g", [tmp_path / "parts/nodes", tmp_path / "edges.arrow"]), case)


@SEEDS
@pytest.mark.parametrize("first", [0, 1])
def test_svmlight(tmp_path: Path, seed: int, first: int) -> None:
    case = drawn(seed)
    kinds = np.unique(case.y, return_inverse=True)[1]
    lines = []
    for kind, row in zip(kinds, case.x, strict=True):
        cells = [f"{j + first}:{value:g}" for j, value in enumerate(row) if value]
        lines.append(" ".join([str(kind), *cells]) + "  # a remark")
    (tmp_path / "g.svm").write_text("\n".join(lines))
    np.savetxt(tmp_path / "e.txt", case.edges.T, fmt="%d")
    paths = [tmp_path / "e.txt", tmp_path / "g.svm"]
    check(importers.read("g", paths), case, named=False, classes=False)
    (tmp_path / "features").write_text("\n".join(lines))
    paths[1] = tmp_path / "features"
    graph = importers.read("g", paths, kind="svmlight")
    check(graph, case, named=False, classes=False)


def test_two_classes_of_svmlight_are_called_minus_and_plus_one(tmp_path: Path) -> None:
    (tmp_path / "g.svm").write_text("-1 1:1\n+1 1:2\n0 1:3\n1 1:4\n")
    (tmp_path / "e.csv").write_text("source,target\n0,1\n3,2\n")
    paths = [tmp_path / "g.svm", tmp_path / "e.csv"]
    graph = importers.read("g", paths)
    assert (graph.class_names, graph.labels.tolist()) == (("-1", "+1"), [0, 1, -1, 1])
    for content, message in (
        ("1,2 1:1\n", "cannot be read"),
        ("1 0x:1\n", "cannot be read"),
        ("1 1:nan\n", "feature nan at row 0"),
        ("1 99999999999999999999:1\n", "cannot be read"),
        ("# nothing\n", "holds no line"),
    ):
        paths[0].write_text(content)
        with pytest.raises(TaamctlError, match=message):
            importers.read("g", paths)
    with pytest.raises(TaamctlError, match="expected a file of features and an edge list"):
        importers.read("g", paths[:1])


@SEEDS
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_musae(tmp_path: Path, seed: int, kind: str) -> None:
    case = drawn(seed)
    if kind == "json":
        case = case._replace(x=(case.x > 0).astype(np.float64))
        lists = {
            name: np.flatnonzero(row).tolist() for name, row in zip(case.ids, case.x, strict=True)
        }
        items = list(lists.items())
        np.random.default_rng(seed).shuffle(items)  # type: ignore[arg-type]
        (tmp_path / "g_features.json").write_text(json.dumps({str(k): v for k, v in items}))
    else:
        at = sp.coo_matrix(case.x)
        table = pd.DataFrame({"node_id": case.ids[at.row], "feature_id": at.col, "value": at.data})
        table.sample(frac=1, random_state=seed).to_csv(tmp_path / "g_features.csv", index=False)
    nodes = pd.DataFrame({"days": range(len(case.ids)), "new_id": case.ids, "ml_target": case.y})
    nodes.to_csv(tmp_path / "g_target.csv", index=False)
    ends = pd.DataFrame(case.ids[case.edges].T, columns=["id_1", "id_2"])
    ends.to_csv(tmp_path / "g_edges.csv", index=False)
    check(importers.read("g", sorted(tmp_path.iterdir())), case)
    check(importers.read("g", [tmp_path]), case)


def test_musae_of_which_two_columns_name_the_nodes(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"0": [1], "1": [0], "2": []}')
    (tmp_path / "target.csv").write_text("id,new_id,target\n0,2,a\n1,1,b\n2,0,a\n")
    (tmp_path / "edges.csv").write_text("from,to\n0,1\n")
    paths = sorted(tmp_path.iterdir())
    with pytest.raises(TaamctlError, match="'id' and 'new_id' both name all nodes"):
        importers.read("g", paths)
    graph = importers.read("g", paths, ImportOptions(id="new_id"))
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["2", "1", "0"]
    for content, message in (
        ('{"0": [1], "1": [0]}', "are about different nodes: 1 stand in one of them alone"),
        ('{"0": [1], "1": [0], "2": [], "3": []}', "no column names the 4 nodes"),
        ('{"0": [-1], "1": [0], "2": []}', "node '0' has the feature -1"),
        ('{"0": [true], "1": [0], "2": []}', "node '0' has the feature True"),
        ('{"0": [99999999999], "1": [0], "2": []}', "has the feature 99999999999"),
        ('{"0": [], "1": [], "2": []}', "no node has a feature"),
        ("[[1]]", "holds no features as MUSAE"),
        ("[" * 100_000, "cannot be read"),
    ):
        (tmp_path / "f.json").write_text(content)
        with pytest.raises(TaamctlError, match=message):
            importers.read("g", paths, ImportOptions(id="new_id" * ("column" not in message)))


def planetoid(case: Case, folder: Path, protocol: int, seed: int) -> None:
    """Write a graph as Planetoid does, its last nodes as test nodes in any order."""
    n = len(case.ids)
    known = n - 5
    test = np.random.default_rng(seed).permutation(np.arange(known, n))
    kinds = np.eye(3, dtype=np.int32)[np.unique(case.y, return_inverse=True)[1]]
    x = sp.csr_matrix(case.x.astype(np.float32))
    graph = defaultdict(list)
    for source, target in case.edges.T.tolist():
        graph[source].append(target)
    parts = {"x": x[:4], "y": kinds[:4], "allx": x[:known], "ally": kinds[:known]}
    parts |= {"tx": x[test], "ty": kinds[test], "graph": graph}
    for part, value in parts.items():
        (folder / f"ind.g.{part}").write_bytes(pickle.dumps(value, protocol=protocol))
    (folder / "ind.g.test.index").write_text("\n".join(map(str, test)))


@SEEDS
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_planetoid(tmp_path: Path, seed: int, protocol: int) -> None:
    case = drawn(seed)
    planetoid(case, tmp_path, protocol, seed)
    graph = importers.read("g", sorted(tmp_path.iterdir()))
    check(graph, case, named=False, classes=False)
    n = len(case.ids)
    assert graph.given.part is not None
    assert graph.given.part.tolist() == [0] * 4 + [1] * (n - 9) + [2] * 5
    (tmp_path / "ind.g.y").unlink()
    graph = importers.read("g", [tmp_path])
    assert graph.given.part is None
    (tmp_path / "ind.g.ally").unlink()
    with pytest.raises(TaamctlError, match="those of ally are missing"):
        importers.read("g", [tmp_path])


class Harm:
    """What a pickle would do if it were let."""

    def __reduce__(self) -> Any:
        return (Path.touch, (Path("harm"),))


def broken(matrix: sp.csr_matrix) -> sp.csr_matrix:
    matrix.indices[0] = 1 << 30
    return matrix


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("graph", Harm(), "refused to construct"),
        ("graph", {0: ["a"]}, "holds what is no row number"),
        ("graph", {0: [0.5]}, "holds what is no row number"),
        ("graph", {0: [1 << 70]}, "cannot be read|no row number"),
        ("graph", {0: [10_000]}, "edge|node"),
        ("graph", [1], "cannot be read"),
        ("allx", [1], "cannot be read"),
        ("allx", broken(sp.csr_matrix(np.eye(9))), "cannot be read"),
        ("ally", np.zeros(9), "holds no rows of numbers"),
        ("ty", np.zeros((1, 3)), "the parts do not fit together"),
    ],
    ids=range(10),
)
def test_planetoid_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, value: object, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "files"
    folder.mkdir()
    planetoid(drawn(0), folder, 2, 0)
    (folder / f"ind.g.{part}").write_bytes(pickle.dumps(value, protocol=2))
    with pytest.raises(TaamctlError, match=message):
        importers.read("g", [folder])
    assert not Path("harm").exists()


def test_test_ids_far_beyond_the_rows_are_refused_before_room_is_made(tmp_path: Path) -> None:
    planetoid(drawn(0), tmp_path, 2, 0)
    for index in ("1\n2\n3\n4\n999999999999999\n", "-1\n2\n3\n4\n5\n"):
        (tmp_path / "ind.g.test.index").write_text(index)
        with pytest.raises(TaamctlError, match="test ids run from"):
            importers.read("g", [tmp_path])


class Data:
    """As PyG's Data: keys, and what they hold."""

    def __init__(self, **kept: Any) -> None:
        self.kept = kept
        self.num_nodes = len(kept["x"])

    def to_dict(self) -> dict[str, Any]:
        return dict(self.kept)


def of_pyg(case: Case) -> NodeGraph:
    import torch

    x, edges = torch.tensor(case.x, requires_grad=True), torch.tensor(case.edges)
    return taamctl.graph_of(Data(x=x, edge_index=edges, y=case.y.tolist(), node_id=case.ids))


def of_dict(case: Case) -> NodeGraph:
    arrays = {"x": sp.csr_matrix(case.x), "edge_index": case.edges, "y": case.y.astype(object)}
    return taamctl.graph_of({**arrays, "node_id": case.ids.tolist()})


def of_matrix(case: Case) -> NodeGraph:
    adjacency = case.adjacency().tocsc()
    return taamctl.graph_of(adjacency, x=case.x, y=pd.Series(case.y), ids=case.ids.tolist())


def of_frames(case: Case) -> NodeGraph:
    return taamctl.graph_of(*frames(case))


def of_indexed_frames(case: Case) -> NodeGraph:
    nodes, edges = frames(case)
    nodes = nodes.astype({"label": "category"}).set_index("id")
    nodes.index.name = None
    return taamctl.graph_of(nodes, edges.astype("string"))


def of_networkx(case: Case) -> NodeGraph:
    graph = nx.DiGraph()
    for name, kind, row in zip(case.ids.tolist(), case.y.tolist(), case.x.tolist(), strict=True):
        graph.add_node(name, kind=kind, p=row[0], q=row[1:])
    graph.add_edges_from(case.ids[case.edges].T.tolist())
    return taamctl.graph_of(graph, label="kind")


def of_anndata(case: Case) -> NodeGraph:
    obs = pd.DataFrame({"cell_type": pd.Categorical(case.y)}, index=case.ids)
    return taamctl.graph_of(
        SimpleNamespace(
            X=case.x,
            obs=obs,
            obs_names=obs.index,
            var_names=pd.Index(list("abc")),
            obsp={"connectivities": case.adjacency(), "distances": sp.eye(len(obs))},
            obsm={},
            layers={},
        )
    )


@SEEDS
@pytest.mark.parametrize(
    "made", [of_pyg, of_dict, of_matrix, of_frames, of_indexed_frames, of_networkx, of_anndata]
)
def test_python_objects(seed: int, made: Callable[[Case], NodeGraph]) -> None:
    case = drawn(seed)
    check(made(case), case)


@pytest.mark.parametrize("seed", range(2))
def test_dgl_graphs(seed: int) -> None:
    dgl = pytest.importorskip("dgl")
    import torch

    case = drawn(seed)
    graph = dgl.graph(tuple(torch.tensor(case.edges)), num_nodes=len(case.ids))
    graph.ndata["feat"] = torch.tensor(case.x)
    graph.ndata["label"] = torch.tensor(np.unique(case.y, return_inverse=True)[1])
    check(taamctl.graph_of(graph), case, named=False, classes=False)


def test_a_graph_made_in_python_is_kept_and_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taamctl.core import registry

    monkeypatch.chdir(tmp_path)
    case = drawn(1)
    tasks = {"maths": "b", "law": "a", "art, new": "b"}
    graph = taamctl.graph_of(*frames(case), tasks=tasks)
    path = taamctl.save_graph(graph, "mine", about={"licence": "CC0"})
    first = path.read_bytes()
    module = registry.load("taamctl.datasets", "mine")
    assert module.META.licence == "CC0" and module.TASKS == 2
    check(module.load(None), case)
    with pytest.raises(TaamctlError, match="is there already"):
        taamctl.save_graph(graph, "mine")
    taamctl.save_graph(graph, "mine", about={"licence": "CC0"}, overwrite=True)
    assert path.read_bytes() == first
    with pytest.raises(TaamctlError, match="arxiv"):
        taamctl.save_graph(graph, "arxiv")


def refused(message: str, *arguments: Any, **options: Any) -> TaamctlError:
    with pytest.raises(TaamctlError, match=message) as error:
        taamctl.graph_of(*arguments, **options)
    return error.value


def test_what_no_graph_can_be_made_of() -> None:
    case = drawn(0)
    nodes, edges = frames(case)
    refused("no graph can be made of builtins.list", [1])
    refused("a DataFrame of nodes beside builtins.NoneType", nodes)
    refused("edges= beside builtins.dict", {}, edges)
    refused("x= beside pandas", nodes, edges, x=case.x)
    assert "did you mean label?" in refused("no option labl", nodes, edges, labl="y").hint
    refused("ends='row' is none of rows, ids", nodes, edges, ends="row")
    refused("no_class", nodes, edges, no_class="x")
    refused("holds no features", case.adjacency())
    refused("has the shape", sp.csr_matrix(case.x))
    refused("feature rows", case.adjacency(), x=case.x[:-1])
    refused("two|columns", pd.concat([nodes, nodes["id"]], axis=1), edges)
    refused("holds several types of nodes", {"_global_store": {}, "paper": {}})
    lost = edges.copy()
    lost.iloc[0, 1] = "nobody"
    refused("'nobody'", nodes, lost)
    assert taamctl.graph_of(nodes, lost, bad_edges="drop").adjacency.nnz == len(edges) - 1
    rows = edges.assign(source=0, target=1)
    assert taamctl.graph_of(nodes.drop(columns="id"), rows, ends="rows").adjacency.nnz == 1
