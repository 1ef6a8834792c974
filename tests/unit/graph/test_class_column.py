"""The class of one's own graph: taken where a column holds classes, asked for where it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions

Columns = dict[str, list[object]]


def made(folder: Path, columns: Columns, edges: list[tuple[object, object]]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    nodes, links = folder / "nodes.csv", folder / "edges.csv"
    rows = zip(*columns.values(), strict=True)
    nodes.write_text("\n".join([",".join(columns), *(",".join(map(str, r)) for r in rows)]) + "\n")
    links.write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in edges))
    return [nodes, links]


def town(rng: np.random.Generator, n: int = 40) -> tuple[Columns, list[tuple[object, object]]]:
    """Return nodes on a grid with a kind, ids that are no row numbers, and edges."""
    ids = [f"p{i}" for i in rng.permutation(1000)[:n]]
    columns: Columns = {
        "id": list(ids),
        "x": [i % 7 for i in range(n)],
        "y": [i // 7 for i in range(n)],
        "height": rng.normal(size=n).round(3).tolist(),
    }
    edges: list[tuple[object, object]] = [
        (ids[a], ids[b]) for a, b in rng.integers(0, n, (3 * n, 2)) if a != b
    ]
    return columns, edges


def read(paths: list[Path], **options: object) -> NodeGraph:
    return importers.read("town", paths, ImportOptions(**options))  # type: ignore[arg-type]


def refused(paths: list[Path], **options: object) -> TaamctlError:
    with pytest.raises(TaamctlError) as caught:
        read(paths, **options)
    return caught.value


@pytest.mark.parametrize("seed", range(3))
def test_a_place_is_no_class_whatever_the_order_of_columns(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, edges = town(rng)
    columns["kind"] = rng.choice(["inn", "mill", "farm"], 40).tolist()
    order = rng.permutation(list(columns)).tolist()
    error = refused(made(tmp_path, {name: columns[name] for name in order}, edges))
    assert "'y' is called like a class, but it lies beside 'x'" in error.message
    assert error.hint.startswith("say which: --label kind (3 values), or --label y, to take it")
    assert "--ignore y, for a graph without classes" in error.hint
    graph = read(made(tmp_path, columns, edges), label="kind")
    assert graph.class_names == ("farm", "inn", "mill")
    assert graph.feature_names == ("x", "y", "height")
    assert read(made(tmp_path, columns, edges), label="y", ignore=("kind",)).num_features == 2


def test_a_place_beside_a_usual_name_asks_nothing(tmp_path: Path) -> None:
    columns, edges = town(np.random.default_rng(3))
    columns["category"] = ["07", "8"] * 20
    graph = read(made(tmp_path, columns, edges))
    assert graph.class_names == ("07", "8") and "y" in graph.feature_names


def test_a_word_called_y_beside_x_is_a_class(tmp_path: Path) -> None:
    columns, edges = town(np.random.default_rng(4))
    columns["y"] = ["red", "blue"] * 20
    assert read(made(tmp_path, columns, edges)).class_names == ("blue", "red")


def test_y_without_x_is_a_class(tmp_path: Path) -> None:
    columns, edges = town(np.random.default_rng(5))
    columns["x0"] = columns.pop("x")
    assert read(made(tmp_path, columns, edges)).class_names == ("0", "1", "2", "3", "4", "5")


@pytest.mark.parametrize("seed", range(3))
def test_a_label_of_every_node_is_a_name(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, edges = town(rng)
    del columns["y"]
    columns["label"] = [f"house {i}" for i in rng.permutation(40)]
    paths = made(tmp_path, columns, edges)
    assert "'label' is called like a class, but it has 40 values for 40 nodes" in (
        refused(paths).message
    )
    assert read(paths, ignore=("label",)).class_names == ()
    columns["class"] = ["a", "b", "b", "c"] * 10
    graph = read(made(tmp_path, columns, edges))
    assert graph.class_names == ("a", "b", "c") and graph.feature_names == ("x", "height")
    assert any("'label' has a value of its own for nearly every" in note for note in graph.notes)


def test_what_a_drawing_adds_is_no_feature(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    columns, edges = town(rng)
    columns |= {c: rng.integers(0, 256, 40).tolist() for c in "rgb"}
    columns |= {"size": [10.0] * 40, "color": ["#ff0000"] * 40, "class": ["u", "v"] * 20}
    graph = read(made(tmp_path, columns, edges))
    assert graph.feature_names == ("height",)
    assert sum("says how a programme draws" in note for note in graph.notes) == 7
    assert read(made(tmp_path, columns, edges), features=("r", "height")).num_features == 2


def test_sizes_and_letters_without_a_drawing_are_features(tmp_path: Path) -> None:
    columns, edges = town(np.random.default_rng(8))
    columns |= {"size": [1.5, 2] * 20, "r": [0.25, 3] * 20, "class": ["u", "v"] * 20}
    names = read(made(tmp_path, columns, edges)).feature_names
    assert names == ("x", "y", "height", "size", "r")


@pytest.mark.parametrize("seed", range(4))
def test_an_index_without_a_name_leaves_the_ids_to_a_column_with_one(
    tmp_path: Path, seed: int
) -> None:
    """Shuffled rows and columns give the same graph."""
    rng = np.random.default_rng(seed)
    n = 30
    ids, kinds = rng.permutation(n), rng.choice(["a", "b", "c"], n)
    values = rng.normal(size=n).round(4)
    edges: list[tuple[object, object]] = [
        (u, v) for u, v in rng.integers(0, n, (150, 2)).tolist() if u != v
    ]

    def graph(order: np.ndarray, columns: list[str]) -> tuple[object, ...]:
        table: Columns = {
            "": list(range(n)),
            "paper": ids[order].tolist(),
            "label": kinds[order].tolist(),
            "value": values[order].tolist(),
        }
        found = read(made(tmp_path, {c: table[c] for c in columns}, edges))
        assert found.feature_names == ("value",) and found.given.node_id is not None
        back = np.argsort(found.given.node_id.astype(int))
        a = np.zeros((n, n), bool)
        rows = np.repeat(np.arange(n), np.diff(found.adjacency.indptr))
        a[rows, found.adjacency.indices] = True
        features = np.asarray(found.features)[back].tolist()
        return a[back][:, back].tolist(), features, found.labels[back].tolist()

    names = ["", "paper", "label", "value"]
    right = graph(np.arange(n), names)
    for _ in range(3):
        assert graph(rng.permutation(n), rng.permutation(names).tolist()) == right
