"""Edges join the nodes that their author meant, or two readings are shown: whatever a column or
an array is called.
"""

from __future__ import annotations

import importlib.util
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import to_scipy
from taamctl.importing import edge_ends, importers, reader_tables
from taamctl.importing.options import ImportOptions

N = 40
UNUSUAL = ("paper_id", "node_idx", "user_id", "txId", "movieId", "DocID", "page ids", "my-uuid")
NO_IDS = (
    *("grid", "humid", "house_no", "zip_code", "page_number", "rank", "valid", "colour code"),
    *("item key", "heat_index"),
)
needs_dgl = pytest.mark.skipif(
    importlib.util.find_spec("dgl") is None, reason="dgl is not installed"
)


class Made:
    """A random graph: x[k, 0] tells which node a row is about, whatever order the rows stand in."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.order = rng.permutation(N)
        while (self.order == np.arange(N)).all():
            self.order = rng.permutation(N)
        self.edges = rng.choice(N, (3 * N, 2))
        self.x = np.stack([np.arange(N) + 0.5, rng.standard_normal(N)], axis=1).astype(np.float32)
        self.y = rng.integers(0, 3, N)

    @property
    def joined(self) -> set[tuple[int, int]]:
        return {(int(u), int(v)) for u, v in self.edges}

    def table(
        self, folder: Path, columns: dict[str, list[Any]], edges: Any, header: str = "source,target"
    ) -> list[Path]:
        rows = zip(*columns.values(), strict=True)
        (folder / "nodes.csv").write_text(
            "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n"
        )
        (folder / "edges.csv").write_text(
            "\n".join([header, *(f"{u},{v}" for u, v in edges)]) + "\n"
        )
        return [folder / "nodes.csv", folder / "edges.csv"]

    def columns(self, ids: dict[str, Any]) -> dict[str, list[Any]]:
        """Return the node table in the shuffled order, with columns of ids in front."""
        rest = {
            "label": [f"c{c}" for c in self.y[self.order]],
            "x0": self.x[self.order, 0].tolist(),
            "x1": self.x[self.order, 1].tolist(),
        }
        return {**{name: list(values) for name, values in ids.items()}, **rest}

    def by_row(self) -> np.ndarray:
        """Return the edges as numbers of rows of the shuffled order, [2, E]."""
        row_of = np.argsort(self.order)
        return row_of[self.edges].T


def joined(graph: NodeGraph) -> set[tuple[int, int]]:
    """Return the edges as pairs of the nodes that x0 names."""
    x = np.asarray(graph.features)
    place = list(range(x.shape[1]))
    column = next(
        j
        for j in place
        if sorted(np.floor(x[:, j]).astype(int).tolist()) == list(range(N))
        and (x[:, j] % 1 == 0.5).all()
    )
    node = np.floor(x[:, column]).astype(int)
    target, source = np.nonzero(to_scipy(graph.adjacency).toarray())
    return {(int(node[u]), int(node[v])) for u, v in zip(source, target, strict=True)}


def read(paths: list[Path], **options: Any) -> NodeGraph:
    return importers.read("own", paths, ImportOptions(**options))


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["node_id", "ids", "id", "name", "names"])
@pytest.mark.parametrize("kind", ["permutation", "text", "beyond", "twice"])
def test_an_array_of_names_moves_no_edge_of_torchs_files(
    key: str, kind: str, tmp_path: Path
) -> None:
    made = Made(len(key))
    names: dict[str, Any] = {
        "permutation": torch.from_numpy(made.order),
        "text": [f"n{k}" for k in made.order],
        "beyond": torch.from_numpy(made.order + 1_000_000),
        "twice": torch.zeros(N, dtype=torch.int64),
    }
    torch.save(
        {
            "x": torch.from_numpy(made.x[made.order]),
            "edge_index": torch.from_numpy(made.by_row()),
            key: names[kind],
            "y": torch.from_numpy(made.y[made.order]),
        },
        tmp_path / "g.pt",
    )
    graph = read([tmp_path / "g.pt"])
    assert joined(graph) == made.joined
    if kind == "twice":
        assert graph.given.node_id is None
        assert (
            f"g.pt: {key!r} does not name every node once, so it is not read as their names"
            in graph.notes
        )
    else:
        assert graph.given.node_id is not None
        assert graph.given.node_id.tolist() == [
            str(v) for v in (names[kind] if kind == "text" else names[kind].tolist())
        ]


@needs_dgl
@pytest.mark.parametrize("way", ["subgraph", "half", "reordered"])
def test_what_dgl_puts_beside_a_graph_moves_no_edge(way: str, tmp_path: Path) -> None:
    import dgl

    made = Made(7)
    whole = dgl.graph(
        (torch.from_numpy(made.edges[:, 0]), torch.from_numpy(made.edges[:, 1])), num_nodes=N
    )
    whole.ndata["feat"], whole.ndata["label"] = torch.from_numpy(made.x), torch.from_numpy(made.y)
    kept = set(range(N))
    if way == "reordered":
        part = dgl.reorder_graph(
            whole,
            node_permute_algo="custom",
            permute_config={"nodes_perm": torch.from_numpy(made.order)},
        )
    else:
        nodes = made.order if way == "subgraph" else made.order[:25]
        kept = set(nodes.tolist())
        part = dgl.node_subgraph(whole, torch.from_numpy(nodes))
    assert "_ID" in part.ndata
    dgl.save_graphs(str(tmp_path / "g.bin"), [part])
    graph = read([tmp_path / "g.bin"])
    node = np.floor(np.asarray(graph.features)[:, 0]).astype(int)
    target, source = np.nonzero(to_scipy(graph.adjacency).toarray())
    assert {(int(node[u]), int(node[v])) for u, v in zip(source, target, strict=True)} == {
        (u, v) for u, v in made.joined if {u, v} <= kept
    }


def test_a_matrix_counts_rows_whatever_they_are_called(tmp_path: Path) -> None:
    import scipy.io
    import scipy.sparse as sp

    made = Made(3)
    source, target = made.by_row()
    scipy.io.mmwrite(
        tmp_path / "edges.mtx", sp.coo_matrix((np.ones(len(source)), (source, target)), (N, N))
    )
    made.table(tmp_path, made.columns({"id": made.order}), [])
    graph = read([tmp_path / "edges.mtx", tmp_path / "nodes.csv"])
    assert joined(graph) == made.joined
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == [
        str(k) for k in made.order
    ]
    with pytest.raises(TaamctlError, match="--ends ids: edges in Matrix Market"):
        read([tmp_path / "edges.mtx", tmp_path / "nodes.csv"], ends="ids")


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["id", "node_id", "ids"])
def test_arrays_that_can_be_read_in_two_ways_are_shown_both(key: str, tmp_path: Path) -> None:
    made = Made(11)
    arrays = {"x": made.x[made.order], "y": made.y[made.order], key: made.order}
    np.savez(tmp_path / "rows.npz", edge_index=made.by_row(), **arrays)
    np.savez(tmp_path / "ids.npz", edge_index=made.edges.T, **arrays)
    for name in ("rows", "ids"):
        with pytest.raises(TaamctlError, match="that makes two graphs") as error:
            read([tmp_path / f"{name}.npz"])
        assert error.value.hint == "say which: --ends rows, or --ends ids"
        assert joined(read([tmp_path / f"{name}.npz"], ends=name)) == made.joined
    left_out = read([tmp_path / "rows.npz"], ignore=(key,))
    assert joined(left_out) == made.joined and left_out.given.node_id is None


@pytest.mark.parametrize("ids", ["in order", "text", "large"])
def test_arrays_that_can_be_read_in_one_way_are_read_so(ids: str, tmp_path: Path) -> None:
    made = Made(12)
    names: dict[str, Any] = {
        "in order": np.arange(N),
        "text": np.array([f"n{k}" for k in made.order]),
        "large": made.order + 1000,
    }
    arrays = {"x": made.x[made.order], "y": made.y[made.order], "id": names[ids]}
    np.savez(tmp_path / "rows.npz", edge_index=made.by_row(), **arrays)
    assert joined(read([tmp_path / "rows.npz"])) == made.joined
    if ids != "in order":
        named = names[ids][made.by_row()]
        np.savez(tmp_path / "ids.npz", edge_index=named, **arrays)
        assert joined(read([tmp_path / "ids.npz"])) == made.joined


def test_a_sparse_matrix_among_arrays_counts_rows(tmp_path: Path) -> None:
    import scipy.sparse as sp

    made = Made(13)
    source, target = made.by_row()
    a = sp.csr_matrix((np.ones(len(source)), (source, target)), (N, N))
    np.savez(
        tmp_path / "g.npz",
        adj_data=a.data,
        adj_indices=a.indices,
        adj_indptr=a.indptr,
        adj_shape=a.shape,
        x=made.x[made.order],
        labels=made.y[made.order],
        node_id=made.order,
    )
    assert joined(read([tmp_path / "g.npz"])) == made.joined


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_an_id_column_of_any_name_is_found_or_asked_about(seed: int, tmp_path: Path) -> None:
    """Drawn at random: its name, its place, how ids are spelled, and whether pandas wrote its
    index in front.
    """
    rng, made = np.random.default_rng(seed), Made(seed)
    letters = "".join(rng.choice(list("abcdefghkmpqrsuvw"), 6))
    name = str(rng.choice([*UNUSUAL, letters, letters, "Knoten"]))
    spelling = [
        lambda k: k,
        lambda k: k + 1,
        lambda k: f"n{k}",
        lambda k: k * 977 + 10**9,
        lambda k: f"{k:05d}",
    ][int(rng.integers(5))]
    columns = made.columns({name: [spelling(k) for k in made.order.tolist()]})
    if rng.random() < 0.5:
        columns = {key: columns[key] for key in rng.permutation(list(columns))}
    if rng.random() < 0.3:
        columns = {"": list(range(N)), **columns}
    paths = made.table(
        tmp_path, columns, [(spelling(u), spelling(v)) for u, v in made.edges.tolist()]
    )
    asked = ""
    try:
        graph = read(paths)
    except TaamctlError as error:
        asked = error.hint
    if asked:
        assert f"--id {name}" in asked.replace("'", "") and "--ends rows" in asked
        graph = read(paths, id=name)
    assert joined(graph) == made.joined
    assert graph.num_features == 2


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_usual_name_that_no_list_holds_needs_no_question(name: str, tmp_path: Path) -> None:
    made = Made(5)
    graph = read(made.table(tmp_path, made.columns({name: made.order}), made.edges))
    assert joined(graph) == made.joined and graph.num_features == 2
    assert (
        f"nodes.csv: {name!r} is taken for the nodes' id: the only column that holds every end of "
        "the edges" in graph.notes
    )


def test_rows_are_taken_where_the_user_says_so(tmp_path: Path) -> None:
    made = Made(6)
    paths = made.table(tmp_path, made.columns({"rank": made.order}), made.by_row().T)
    with pytest.raises(
        TaamctlError, match="the values of 'rank' or row numbers, and that makes two graphs"
    ) as error:
        read(paths)
    assert error.value.hint == "say which: --id rank, or --ends rows: edges count the rows from 0"
    graph = read(paths, ends="rows")
    assert joined(graph) == made.joined and graph.num_features == 2
    assert any("'rank' counts the nodes" in note for note in graph.notes)
    assert read(paths, ends="rows", features=("rank", "x0", "x1")).num_features == 3
    assert joined(read(paths, features=("rank", "x0", "x1"))) == made.joined, (
        "a column named as a feature is no id"
    )


def test_two_columns_that_could_be_the_id_are_asked_about(tmp_path: Path) -> None:
    made = Made(8)
    paths = made.table(
        tmp_path, made.columns({"desk_no": made.order, "seat_no": made.order[::-1]}), made.edges
    )
    with pytest.raises(
        TaamctlError, match="'desk_no' and 'seat_no' each hold every end of the edges"
    ) as error:
        read(paths)
    assert "--id desk_no or --id seat_no" in error.value.hint
    graph = read(paths, id="desk_no")
    assert joined(graph) == made.joined and graph.num_features == 2, (
        "the other one counts the nodes: no feature"
    )


def test_of_two_columns_the_one_that_is_called_like_an_id_is_taken(tmp_path: Path) -> None:
    made = Made(34)
    columns = made.columns({"rank": made.order[::-1], "paper_id": made.order})
    graph = read(made.table(tmp_path, columns, made.edges))
    assert joined(graph) == made.joined
    assert any(
        "'paper_id' is taken for the nodes' id: the only one called like an id of 'rank' and "
        "'paper_id'" in note
        for note in graph.notes
    )
    columns = made.columns({"user_id": made.order[::-1], "paper_id": made.order})
    with pytest.raises(TaamctlError, match="more than one column has a usual name of an id"):
        read(made.table(tmp_path, columns, made.edges))


@pytest.mark.parametrize("spelling", ["{:03d}", "{}.0"])
def test_padded_names_beside_ends_that_are_numbers_are_asked_about(
    spelling: str, tmp_path: Path
) -> None:
    made = Made(35)
    names = np.array([spelling.format(k) for k in made.order])
    arrays = {"x": made.x[made.order], "y": made.y[made.order], "id": names}
    np.savez(tmp_path / "rows.npz", edge_index=made.by_row(), **arrays)
    np.savez(tmp_path / "ids.npz", edge_index=made.edges.T, **arrays)
    for name in ("rows", "ids"):
        with pytest.raises(TaamctlError, match="that makes two graphs") as error:
            read([tmp_path / f"{name}.npz"])
        assert error.value.hint == "say which: --ends rows, or --ends ids"
        assert joined(read([tmp_path / f"{name}.npz"], ends=name)) == made.joined


def test_text_ends_of_a_graph_without_edges_are_read(tmp_path: Path) -> None:
    made = Made(36)
    no_edges = np.zeros((2, 0), np.str_)
    np.savez(tmp_path / "g.npz", x=made.x, y=made.y, edge_index=no_edges)
    assert read([tmp_path / "g.npz"]).adjacency.nnz == 0


def test_one_long_name_takes_no_room_for_all_others(tmp_path: Path) -> None:
    names = np.array([f"n{k}" for k in range(20_000)], object)
    names[7] = "x" * 100_000
    tracemalloc.start()
    found = edge_ends.checked(names, len(names), "g")
    source, target, _ = edge_ends.by_name(names, names[::-1], found, "g", None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert source.tolist() == list(range(20_000)) == target.tolist()[::-1]
    assert peak < 100 << 20, "as fixed-width text it is 8 GB"


def test_an_index_is_never_preferred_to_a_column_with_a_name(tmp_path: Path) -> None:
    made = Made(9)
    rows = list(range(N))
    graph = read(made.table(tmp_path, made.columns({"": rows, "paperId": made.order}), made.edges))
    assert joined(graph) == made.joined
    with pytest.raises(
        TaamctlError,
        match="'index' counts the rows, and 'paperId' names every end of the edges too",
    ):
        read(made.table(tmp_path, made.columns({"index": rows, "paperId": made.order}), made.edges))


def test_where_ids_do_not_meet_the_column_whose_values_do_is_named(tmp_path: Path) -> None:
    made = Made(10)
    columns = made.columns({"id": made.order * 31 + 70_000_000, "new id": made.order})
    paths = made.table(tmp_path, columns, made.edges)
    with pytest.raises(
        TaamctlError,
        match="'id' is called like an id, but lacks ends of the edges that 'new id' holds",
    ) as error:
        read(paths)
    assert error.value.hint.startswith(
        "--id 'new id' --ignore id: 'new id' names every end of the edges"
    )
    graph = read(paths, id="new id", ignore=("id",))
    assert joined(graph) == made.joined and graph.num_features == 2


def test_features_are_named_and_those_like_ids_are_warned_of(tmp_path: Path) -> None:
    made = Made(14)
    accounts = (made.order + 1) * 7_000_000_000
    wide = {f"w{j}": made.x[:, 1].tolist() for j in range(12)}
    graph = read(
        made.table(
            tmp_path, {**made.columns({"id": made.order, "account": accounts}), **wide}, made.edges
        )
    )
    assert (
        "nodes.csv: features: account, x0, x1, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11"
        in graph.notes
    )
    assert any(
        "warning: 'account' holds a different whole number for every node" in n
        and "--ignore account" in n
        for n in graph.notes
    )
    assert any(
        "'account' holds whole numbers above 16,777,216, whose last digits float32 cannot hold" in n
        for n in graph.notes
    )


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_nodes_is_no_feature(first: int, tmp_path: Path) -> None:
    made = Made(15)
    counted = (np.arange(N) + first).tolist()
    graph = read(
        made.table(
            tmp_path,
            made.columns({"id": [f"n{k}" for k in made.order], "line": counted}),
            [(f"n{u}", f"n{v}") for u, v in made.edges],
        )
    )
    assert graph.num_features == 2
    assert (
        "nodes.csv: 'line' counts the nodes (every number once) and is left out; to take it: "
        "--features line --features '*'" in graph.notes
    )


def test_few_nodes_have_features_that_look_like_ids_by_chance(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("a,b,label\n1,0.5,x\n0,1.5,y\n2,2.5,x\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    graph = read([tmp_path / "nodes.csv", tmp_path / "edges.csv"])
    assert np.asarray(graph.features).tolist() == [[1, 0.5], [0, 1.5], [2, 2.5]]
    assert graph.given.node_id is None


@pytest.mark.parametrize("name", NO_IDS)
def test_a_name_that_may_be_a_features_is_asked_about(name: str, tmp_path: Path) -> None:
    made = Made(16)
    paths = made.table(tmp_path, made.columns({name: made.order}), made.by_row().T)
    with pytest.raises(TaamctlError, match="or row numbers, and that makes two graphs"):
        read(paths)
    assert joined(read(paths, ends="rows")) == made.joined


@pytest.mark.parametrize("spelled", ["{}.0", "{:05d}", "{}"])
@pytest.mark.parametrize("meant", ["{}.0", "{:05d}", "{}"])
@pytest.mark.parametrize("more", [0, 500])
def test_numbers_are_one_id_however_they_are_spelled(
    spelled: str, meant: str, more: int, tmp_path: Path
) -> None:
    made = Made(17)
    columns = made.columns({"paper_id": [spelled.format(k + more) for k in made.order.tolist()]})
    edges = [(meant.format(u + more), meant.format(v + more)) for u, v in made.edges.tolist()]
    graph = read(made.table(tmp_path, columns, edges))
    assert joined(graph) == made.joined and graph.num_features == 2


@pytest.mark.parametrize("fault", ["empty", "twice"])
def test_a_fault_of_an_id_is_named_and_not_read_around(fault: str, tmp_path: Path) -> None:
    made = Made(18)
    ids: list[Any] = made.order.tolist()
    edges = [e for e in made.edges.tolist() if ids[5] not in e]
    ids[5] = "" if fault == "empty" else ids[6]
    message = (
        "the node at row 5 has no id"
        if fault == "empty"
        else f"the node id '{ids[6]}' stands twice, at rows 5 and 6"
    )
    with pytest.raises(TaamctlError, match=message):
        read(made.table(tmp_path, made.columns({"paper_id": ids}), edges), nan="zero")


def test_parquet_keeps_numbers_of_any_kind_as_ids(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made = Made(19)
    for kind in (pa.float64(), pa.int32(), pa.string()):
        text = kind == pa.string()
        nodes = {
            "paper_id": pa.array([str(k) if text else k for k in made.order.tolist()], kind),
            "label": [f"c{c}" for c in made.y],
            "x0": made.x[made.order, 0],
            "x1": made.x[made.order, 1],
        }
        pq.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
        pq.write_table(
            pa.table({"source": made.edges[:, 0], "target": made.edges[:, 1]}),
            tmp_path / "edges.parquet",
        )
        assert joined(read([tmp_path / "nodes.parquet", tmp_path / "edges.parquet"])) == made.joined
    for wrong in ([[1, 2]] * 3, [True, False, True]):
        pq.write_table(pa.table({"source": wrong, "target": wrong}), tmp_path / "edges.parquet")
        with pytest.raises(TaamctlError, match="expected whole numbers or text"):
            read([tmp_path / "nodes.parquet", tmp_path / "edges.parquet"])


@pytest.mark.parametrize("end", ["+-3", "²", "1_0", "9" * 5000, "inf"])
def test_an_end_that_is_no_row_is_named(end: str, tmp_path: Path) -> None:
    made = Made(20)
    paths = made.table(tmp_path, made.columns({}), [(0, 1), (end, 4)])
    with pytest.raises(
        TaamctlError, match=r"edge 1 is \(.*, 4\), which is no row of the node table"
    ):
        read(paths)


def test_rows_of_another_first_number_do_not_win_against_a_key(tmp_path: Path) -> None:
    made = Made(21)
    columns = made.columns({"index": list(range(1, N + 1)), "paperId": made.order + 1})
    with pytest.raises(
        TaamctlError, match="'index' counts the rows, and 'paperId' names every end"
    ):
        read(made.table(tmp_path, columns, made.edges + 1))


@pytest.mark.parametrize(
    "taken", ["text that lacks them", "text that stands twice", "counts the rows"]
)
def test_a_text_key_beside_a_column_called_like_an_id_is_named(taken: str, tmp_path: Path) -> None:
    made = Made(22)
    names = {
        "text that lacks them": [f"n{k}" for k in range(N)],
        "text that stands twice": ["Anna", "Bert"] * (N // 2),
        "counts the rows": list(range(N)),
    }[taken]
    columns = made.columns({"name": names, "paper_key": [f"P{k}" for k in made.order]})
    paths = made.table(tmp_path, columns, [(f"P{u}", f"P{v}") for u, v in made.edges])
    with pytest.raises(
        TaamctlError,
        match="'name' is called like an id, but lacks ends of the edges that 'paper_key' holds",
    ) as error:
        read(paths)
    assert error.value.hint.startswith("--id paper_key --ignore name:")
    assert joined(read(paths, id="paper_key", ignore=("name",))) == made.joined


def test_columns_that_are_the_same_are_one_id(tmp_path: Path) -> None:
    made = Made(23)
    keys = [f"P{k}" for k in made.order]
    graph = read(
        made.table(
            tmp_path,
            made.columns({"": keys, "paper": keys}),
            [(f"P{u}", f"P{v}") for u, v in made.edges],
        )
    )
    assert joined(graph) == made.joined and graph.num_features == 2
    assert any("'paper' is taken for the nodes' id" in note for note in graph.notes)


@pytest.mark.parametrize("kind", ["bytes", "column", "padded text", "twice"])
def test_arrays_of_names_in_other_shapes(kind: str, tmp_path: Path) -> None:
    made = Made(24)
    names: dict[str, Any] = {
        "bytes": np.array([f"n{k}".encode() for k in made.order]),
        "column": made.order[:, None] + 500,
        "padded text": np.array([f"{k:04d}" for k in made.order]),
        "twice": np.array(["Anna", "Bert"] * (N // 2)),
    }
    ids = names[kind]
    edges: dict[str, Any] = {
        "bytes": np.array([f"n{k}" for k in made.edges.T.ravel()]).reshape(2, -1),
        "column": made.edges.T + 500,
        "padded text": np.array([f"{k:04d}" for k in made.edges.T.ravel()]).reshape(2, -1),
        "twice": made.by_row(),
    }
    np.savez(
        tmp_path / "g.npz",
        x=made.x[made.order],
        y=made.y[made.order],
        id=ids,
        edge_index=edges[kind],
    )
    graph = read([tmp_path / "g.npz"])
    assert joined(graph) == made.joined
    wanted = {
        "bytes": [f"n{k}" for k in made.order],
        "column": [str(k + 500) for k in made.order],
        "twice": None,
        "padded text": [f"{k:04d}" for k in made.order],
    }[kind]
    assert (None if graph.given.node_id is None else graph.given.node_id.tolist()) == wanted


def test_ends_are_what_the_user_says_or_the_option_is_refused(tmp_path: Path) -> None:
    made = Made(25)
    np.savez(
        tmp_path / "g.npz", x=made.x[made.order], y=made.y[made.order], edge_index=made.by_row()
    )
    assert joined(read([tmp_path / "g.npz"], ends="rows")) == made.joined
    with pytest.raises(TaamctlError, match="do not end so without ids") as error:
        read([tmp_path / "g.npz"], ends="ids")
    assert "--id" in error.value.hint


def test_a_table_called_nodes_with_columns_called_like_ends_is_asked_about(tmp_path: Path) -> None:
    made = Made(26)
    columns = made.columns(
        {"paper": made.order, "u": [k % 5 for k in range(N)], "v": [k % 7 for k in range(N)]}
    )
    paths = made.table(tmp_path, columns, made.edges, header="a,b")
    with pytest.raises(
        TaamctlError,
        match="called like a node table, and its columns u and v like the ends of edges",
    ) as error:
        read(paths)
    assert "--source" in error.value.hint
    assert joined(read(paths, source="a", target="b", id="paper")) == made.joined


def test_an_attribute_called_as_the_reader_calls_the_elements_moves_no_edge(tmp_path: Path) -> None:
    made = Made(27)
    names = ("node id", "x0", "label")
    kinds = {"node id": "long", "x0": "double", "label": "string"}
    keys = "".join(
        f'<key id="k{i}" for="node" attr.name="{n}" attr.type="{kinds[n]}"/>'
        for i, n in enumerate(names)
    )
    nodes = "".join(
        f'<node id="{k}"><data key="k0">{row + 900}</data><data key="k1">{k + 0.5}</data><data '
        f'key="k2">c{made.y[k]}</data>'
        "</node>"
        for row, k in enumerate(made.order.tolist())
    )
    edges = "".join(f'<edge source="{u}" target="{v}"/>' for u, v in made.edges.tolist())
    graph = f'<graph edgedefault="directed">{nodes}{edges}</graph>'
    (tmp_path / "g.graphml").write_text(f'<?xml version="1.0"?><graphml>{keys}{graph}</graphml>')
    assert joined(read([tmp_path / "g.graphml"])) == made.joined


def test_names_beside_a_matrix_that_name_nothing_are_left_out(tmp_path: Path) -> None:
    import scipy.io
    import scipy.sparse as sp

    made = Made(28)
    source, target = made.by_row()
    scipy.io.mmwrite(
        tmp_path / "edges.mtx", sp.coo_matrix((np.ones(len(source)), (source, target)), (N, N))
    )
    made.table(tmp_path, made.columns({"name": ["Anna", "Bert"] * (N // 2)}), [])
    graph = read([tmp_path / "edges.mtx", tmp_path / "nodes.csv"])
    assert joined(graph) == made.joined and graph.given.node_id is None
    assert (
        "nodes.csv: 'name' does not name every node once, so it is not read as their names"
        in graph.notes
    )


def test_padded_ids_beside_a_count_of_the_rows_are_the_ids(tmp_path: Path) -> None:
    made = Made(29)
    columns = made.columns(
        {"id": [f"{k + 1:03d}" for k in made.order], "no": list(range(1, N + 1))}
    )
    graph = read(made.table(tmp_path, columns, made.edges + 1))
    assert joined(graph) == made.joined and graph.num_features == 2


def test_a_rank_in_another_order_than_the_rows_is_a_feature_that_is_warned_of(
    tmp_path: Path,
) -> None:
    made = Made(30)
    columns = made.columns({"id": [f"n{k}" for k in made.order], "rank": made.order + 1})
    graph = read(made.table(tmp_path, columns, [(f"n{u}", f"n{v}") for u, v in made.edges]))
    assert graph.feature_names == ("rank", "x0", "x1")
    assert any("warning: 'rank' holds a different whole number" in n for n in graph.notes)


def test_what_counts_the_nodes_can_be_taken_beside_all_others(tmp_path: Path) -> None:
    made = Made(31)
    columns = made.columns({"id": [f"n{k}" for k in made.order], "line": list(range(N))})
    paths = made.table(tmp_path, columns, [(f"n{u}", f"n{v}") for u, v in made.edges])
    assert any("--features line --features '*'" in note for note in read(paths).notes)
    assert read(paths, features=("line", "*")).feature_names == ("line", "x0", "x1")


def test_ids_of_nineteen_digits_are_ids(tmp_path: Path) -> None:
    made = Made(32)
    columns = made.columns({"tweet": made.order + 1_234_567_890_123_456_000})
    graph = read(made.table(tmp_path, columns, made.edges + 1_234_567_890_123_456_000))
    assert joined(graph) == made.joined and graph.num_features == 2


def test_ids_where_the_user_says_so_need_no_question(tmp_path: Path) -> None:
    made = Made(33)
    graph = read(made.table(tmp_path, made.columns({"rank": made.order}), made.edges), ends="ids")
    assert joined(graph) == made.joined and graph.num_features == 2


def test_a_list_column_and_a_column_of_one_name_are_named(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    nodes = {"id": ["a", "b"], "emb": [[1.0, 2.0], [3.0, 4.0]], "emb[0]": [1.0, 2.0]}
    pq.write_table(pa.table(nodes), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": ["a"], "target": ["b"]}), tmp_path / "edges.parquet")
    with pytest.raises(TaamctlError, match=r"two features are called 'emb\[0\]'"):
        read([tmp_path / "nodes.parquet", tmp_path / "edges.parquet"])


def test_an_end_that_is_not_a_number_is_named_with_its_row() -> None:
    whole = np.array([0.0, 1.0])
    broken = np.array([1.0, np.nan])  # as an empty cell of a Parquet column of floats reads
    with pytest.raises(TaamctlError, match=r"edges.parquet: edge 1 is .*an end is missing"):
        reader_tables.ends(whole, broken, "edges.parquet", have_ids=True)
