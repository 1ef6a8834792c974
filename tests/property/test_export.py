"""A graph that is written in any format and read back by the command that is shown is the same
graph, whatever its nodes, features and classes are called.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array, Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.exporting.export_graph import FORMATS
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.importing.node_ids import id_text
from taamctl.importing.words import NO_LABEL

pytestmark = pytest.mark.usefixtures("quick_readers")
TABLES = ("csv", "parquet")
DRAWS = 15
PLAIN = ("a", "b", "c", "node 1", "p53", "Zürich", "x_1", "café", "東京", "🙂")
NUMBERS = ("007", "7", "1e5", "100000", "0", "1", "2", "-1", "3.0", "1_0", "0x1f", "inf")
WORDS = ("N/A", "unknown", "nan", "None", "null", "?", "true", "train", "NULL", "unlabelled")
MARKS = ("a,b", 'say "hi"', "it's", "a;b", "a\tb", "a\nb", "#1", "%x", "$HOME", "`ls`", "*", "[a]?")
COLUMNS = ("id", "label", "y", "x", "time", "part", "task", "source", "target", "name", "r", "g")
COLUMNS += ("b", "size", "train_mask", "modularity_class", "Unnamed: 0", "node id", "x0", "class")
OUTER = (" a", "a ", "", "\ta")
KEPT = (*PLAIN, *NUMBERS, *WORDS, *MARKS, *COLUMNS)


def some(rng: np.random.Generator, words: tuple[str, ...], count: int) -> list[str]:
    """Draw different words, made-up ones where there are not enough."""
    pool = list(dict.fromkeys([*rng.permutation(np.array(words, object)).tolist()]))
    return (pool + [f"{word}-{i}" for i, word in enumerate(pool * (1 + count // len(pool)))])[
        :count
    ]


def names_of_classes(rng: np.random.Generator, count: int) -> list[str]:
    kind = int(rng.integers(4))
    if kind == 0:
        return [f"class {i}" for i in range(count)]
    if kind == 1:
        return sorted(some(rng, PLAIN, count))
    words = (*KEPT, *OUTER) if kind == 2 else (*NUMBERS, *WORDS)
    return some(rng, words, count)


def numbers(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    kinds = (
        rng.normal(size=shape),
        rng.integers(-2, 3, shape),
        rng.integers(0, 1 << 32, shape, np.uint32).view(np.float32),
        np.zeros(shape),
        np.broadcast_to(rng.permutation(shape[0])[:, None], shape),
        10.0 ** rng.integers(-45, 38, shape),
    )
    x = np.array(kinds[int(rng.integers(len(kinds)))], np.float32)
    x[~np.isfinite(x)] = -0.0
    return x


def drawn(seed: int) -> NodeGraph:
    """Draw a small graph of any kind that the importer makes, and of some that it does not."""
    rng = np.random.default_rng(seed)
    n, width, classes = (int(rng.integers(low, 24)) for low in (1, 1, 1))
    classes = min(classes, 9) if rng.random() < 0.9 else 1
    ends = rng.integers(0, n, (2, int(rng.integers(0, 3 * n)) if rng.random() < 0.95 else 0))
    features: Array | CSR = numbers(rng, (n, width))
    if rng.random() < 0.4:
        features = CSR.of_dense(np.where(rng.random((n, width)) < 0.3, features, 0))
    labels = rng.integers(-1, classes, n) if rng.random() < 0.9 else np.full(n, -1)
    given: dict[str, Any] = {}
    if rng.random() < 0.6:
        tasks = rng.permutation(np.arange(classes) % int(rng.integers(1, classes + 1)))
        given["arrival"] = tasks.astype(np.int64)
    if rng.random() < 0.6:
        given["part"] = rng.integers(-1, 3, n).astype(np.int8)
    if rng.random() < 0.6:
        given["time"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(0, 1e9, n))
    if rng.random() < 0.7:
        given["node_id"] = np.array([*some(rng, KEPT, n), None], object)[:-1]
        assert [id_text(name) for name in given["node_id"]] == given["node_id"].tolist()
    named: tuple[str, ...] = ()
    if rng.random() < 0.8:
        words = (*COLUMNS, *KEPT) if rng.random() < 0.8 else (*KEPT, *OUTER)
        named = tuple(some(rng, words, width))
    made = tuple(names_of_classes(rng, classes))
    return NodeGraph(
        "drawn",
        adjacency_from_edges(*ends, n, "drawn")[0],
        features,
        labels.astype(np.int64),
        made,
        given=Given(**given),
        feature_names=named,
    )


def dense(x: Array | CSR) -> Array:
    if not isinstance(x, CSR):
        return x
    made = np.zeros(x.shape, np.float32)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    made[rows, x.indices] = 1 if x.data is None else x.data
    return made


def refused(graph: NodeGraph, kind: str) -> str:
    """Return what a format cannot hold of a graph; empty where it holds all of it."""
    if kind in TABLES and not graph.adjacency.nnz:
        return "has no edge"
    of_text = kind in (*TABLES, "graphml", "h5ad")
    if of_text and any(not name or name != name.strip() for name in graph.feature_names):
        return "has blanks around its name"
    return ""


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, arguments)
    assert not done.exit_code, (arguments, done.output, done.exception)
    return done


def same(found: NodeGraph, graph: NodeGraph, kind: str) -> None:
    """Compare all but the classes that no node has, which no format keeps."""
    assert np.array_equal(found.adjacency.indptr, graph.adjacency.indptr)
    assert np.array_equal(found.adjacency.indices, graph.adjacency.indices)
    bits, wanted = dense(found.features).view(np.uint32), dense(graph.features).view(np.uint32)
    assert np.array_equal(bits, wanted)
    assert isinstance(found.features, CSR) == (
        isinstance(graph.features, CSR) and kind in ("npz", "pyg", "h5ad")
    )
    used = np.unique(graph.labels[graph.labels >= 0])
    assert found.class_names == tuple(graph.class_names[c] for c in used)
    assert np.array_equal(
        found.labels, np.where(graph.labels < 0, -1, np.searchsorted(used, graph.labels))
    )
    made = tuple(f"x{i}" for i in range(graph.num_features))
    by_default = made if kind in (*TABLES, "graphml", "h5ad") else ()
    assert found.feature_names == (graph.feature_names or by_default)
    same_given(found.given, graph.given, used, graph.num_nodes)


def same_given(found: Given, given: Given, used: Array, n: int) -> None:
    if given.arrival is None or not len(used):
        assert found.arrival is None
    else:
        assert found.arrival is not None
        wanted = np.unique(given.arrival[used], return_inverse=True)[1]
        assert np.array_equal(found.arrival, wanted)
    for name in ("part", "time", "node_id"):
        one, other = getattr(found, name), getattr(given, name)
        if name == "node_id" and other is not None and other.tolist() == list(map(str, range(n))):
            other = None  # names that are the row numbers are none
        assert (one is None) == (other is None), name
        assert one is None or np.array_equal(one, other, equal_nan=name == "time"), name


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        *((kind, range(DRAWS)) for kind in FORMATS),
        *(pytest.param(kind, range(DRAWS, 500), marks=pytest.mark.slow) for kind in FORMATS),
    ],
)
def test_a_graph_comes_back_as_it_was(
    kind: str, seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    if kind == "dgl":
        pytest.importorskip("dgl")
    monkeypatch.chdir(tmp_path)
    held = 0
    for seed in seeds:
        graph = drawn(seed)
        name = f"drawn_{seed}"
        _imported.write(Path(f"data/{name}.h5"), graph, {}, seed % 2 == 1)
        reason = refused(graph, kind)
        there = {*Path().iterdir()}
        call = ("data", "export", name, "--format", kind, "--force")
        if reason:
            error = CliRunner().invoke(app, call).exception
            assert isinstance(error, TaamctlError) and reason in error.message and error.hint
            assert {*Path().iterdir()} == there
            continue
        done = run(*call)
        held += 1
        shown = done.stderr.split("read it back: ")[1].strip()
        run(*shlex.split(shown)[1:])
        made = _imported.module(Path(f"data/{name}_copy.h5"))
        assert made.META.directed == (seed % 2 == 1)
        same(made.load(None), graph, kind)
    assert held > len(seeds) / 2


def test_numbers_and_words_that_mean_no_label_are_among_the_names() -> None:
    assert {word for word in KEPT if word.lower() in NO_LABEL}
