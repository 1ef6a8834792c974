"""Counts before there is a split: from META, a generator, an imported file, numbers given, and
the split itself where it is made.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from taamctl.stages import split

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported, products, synthetic
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.params import params_file
from taamctl.params import sections as parameters
from taamctl.params.split_params import SplitParams
from taamctl.planning import counts
from taamctl.planning.costs import Counts
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout

PARAMS = SplitParams(
    node_order="file",
    symmetrize="as_released",
    unlabelled="as_released",
    tasks="as_given",
    class_order="natural",
    order_seed=0,
    classes_per_task=2,
    odd_class="drop",
    min_class_size=2,
    small_class="drop",
    parts="as_given",
    train=0.6,
    val=0.2,
    test=0.2,
    seed=42,
)
GRAPH = counts.Graph(
    "g", nodes=1000, stored=10_000, features=10, classes=10, joined=2.0, filled=1.0
)


def _context(folder: Path) -> Context:
    file = Path(__file__).resolve().parents[3] / "params.yaml"
    return Context(
        params=parameters.check(str(file), params_file.read(file), {}),
        layout=Layout(folder / "outputs"),
    )


def _estimate(graph: counts.Graph = GRAPH, share: float = 0.8, **changes: Any) -> Counts:
    return counts.estimated(graph, dataclasses.replace(PARAMS, **changes), 2, share)


def test_an_estimate_by_hand() -> None:
    made = _estimate()
    assert (made.used, made.kept, made.mixed) == (
        20_000,
        int(20_000 * 0.8 * 0.44),
        int(20_000 * 0.08),
    )
    assert (made.train, made.val, made.test, made.tasks, made.classes) == (600, 200, 200, 5, 10)


@pytest.mark.parametrize(
    ("changes", "used"), [({"symmetrize": "never"}, 10_000), ({"symmetrize": "always"}, 20_000)]
)
def test_edges_are_counted_as_the_split_uses_them(changes: dict[str, str], used: int) -> None:
    assert _estimate(**changes).used == used
    directed = dataclasses.replace(GRAPH, directed=True)
    assert _estimate(directed).used == 10_000 and _estimate(directed, **changes).used == used


@pytest.mark.parametrize(
    ("odd", "tasks", "classes"),
    [("drop", 3, 9), ("merge_into_last", 3, 10), ("singleton_task", 4, 10)],
)
def test_tasks_follow_the_parameters(odd: str, tasks: int, classes: int) -> None:
    made = _estimate(classes_per_task=3, odd_class=odd)
    assert (made.tasks, made.classes, made.rows) == (tasks, classes, 1000 * classes // 10)
    with pytest.raises(TaamctlError, match="10 classes make no task of 11"):
        _estimate(classes_per_task=11)
    assert _estimate(dataclasses.replace(GRAPH, tasks=7)).tasks == 7
    assert _estimate(dataclasses.replace(GRAPH, tasks=7), tasks="by_size").tasks == 5


def test_the_sizes_of_tasks_are_those_of_the_stream() -> None:
    from taamctl.stream.order import build_stream

    for odd in ("drop", "merge_into_last", "singleton_task"):
        for size in (1, 2, 3, 4):
            params = dataclasses.replace(PARAMS, classes_per_task=size, odd_class=odd)
            stream, _ = build_stream(np.repeat(np.arange(10), 3), tuple("abcdefghij"), params)
            assert counts.tasks_of(10, params) == (len(stream.tasks), stream.num_classes)


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": -1},
        {"nodes": 0},
        {"edges": -5},
        {"features": 0},
        {"classes": 0},
        {"nodes": 1 << 60},
        {"edges": 10**30},
    ],
)
def test_counts_of_no_graph_are_refused_by_name(change: dict[str, int]) -> None:
    whole = {"nodes": 100, "edges": 500, "features": 3, "classes": 4}
    assert counts.given(**whole).nodes == 100
    ((name, value),) = change.items()
    with pytest.raises(TaamctlError, match=f"--{name} {value}"):
        counts.given(**{**whole, **change})


def test_labelled_nodes_alone_make_the_parts() -> None:
    part = _estimate(counts.given(1000, 10_000, 10, 10, labelled=100))
    assert (part.rows, part.nodes, part.used) == (100, 1000, 20_000)
    assert part.kept == pytest.approx(
        _estimate(counts.given(1000, 10_000, 10, 10)).kept / 10, abs=1
    )
    for labelled in (9, 1001):
        with pytest.raises(TaamctlError, match=f"labelled nodes {labelled}"):
            counts.given(1000, 10_000, 10, 10, labelled)


def test_counts_of_a_data_set_come_from_its_meta_and_a_generator_says_its_sizes(
    tmp_path: Path,
) -> None:
    context = _context(tmp_path)
    graph = counts.of_dataset(context, "products")
    assert (graph.nodes, graph.stored, graph.joined) == (
        products.META.nodes,
        products.META.edges,
        1.0,
    )
    tiny = counts.of_dataset(context, "synthetic")
    assert (tiny.nodes, tiny.stored, tiny.features, tiny.classes) == synthetic.SIZES["tiny"]
    with pytest.raises(TaamctlError, match="no dataset called 'nothing'"):
        counts.of_dataset(context, "nothing")


def _import(folder: Path, both: bool, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 300, (2, 900))
    source, target = source[source < target], target[source < target]
    if both:
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    adjacency, _ = adjacency_from_edges(source, target, 300, "mine")
    x: Any = rng.random((300, 8), dtype=np.float32)
    x[:, 2:] = 0
    if sparse:
        import scipy.sparse as sp

        x = from_scipy(sp.csr_matrix(x))
    graph = NodeGraph("mine", adjacency, x, rng.integers(0, 6, 300), tuple("abcdef"), ())
    (folder / "data").mkdir(exist_ok=True)
    _imported.write(folder / "data" / "mine.h5", graph, {})


@pytest.mark.parametrize(("both", "joined"), [(True, 1.0), (False, 2.0)])
@pytest.mark.parametrize("sparse", [True, False])
def test_an_imported_graph_is_asked_for_reverse_edges(
    both: bool, joined: float, sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _import(tmp_path, both, sparse)
    graph = counts.of_dataset(_context(tmp_path), "mine")
    assert (graph.nodes, graph.features, graph.classes, graph.joined) == (300, 8, 6, joined)
    assert graph.filled == pytest.approx(2 / 8)
    assert graph.dense == (not sparse)


def test_a_split_that_is_there_is_counted_and_one_of_other_parameters_is_not(
    tmp_path: Path,
) -> None:
    context = _context(tmp_path)
    split.run(context, "synthetic")
    recorded = {
        "dataset": context.params.tree["datasets"]["synthetic"],
        "split": context.asked("split"),
    }
    graph = counts.of_dataset(context, "synthetic")
    file = counts.split_file(context, graph, recorded)
    assert file is not None and counts.split_file(context, graph, {**recorded, "split": {}}) is None
    broken = tmp_path / "outputs" / "split" / "other" / "split.h5"
    broken.parent.mkdir()
    broken.write_bytes(file.read_bytes()[:1000])
    assert counts.split_file(context, dataclasses.replace(graph, name="other"), recorded) is None
    exact, guess = (
        counts.exact(graph, file, 2),
        counts.estimated(graph, context.params.section(SplitParams), 2, graph.share[1]),
    )
    assert (exact.used, exact.classes, exact.tasks, exact.rows) == (
        guess.used,
        guess.classes,
        guess.tasks,
        guess.rows,
    )
    assert exact.kept == pytest.approx(guess.kept, rel=0.1) and exact.mixed == pytest.approx(
        guess.mixed, rel=0.1
    )
    assert exact.train == pytest.approx(guess.train, rel=0.02) and exact.largest < 2 * guess.largest


def test_a_split_of_an_earlier_import_is_not_taken_for_one_of_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _import(tmp_path, both=True, sparse=False)
    context = _context(tmp_path)
    file = split.run(context, "mine").path
    recorded = {"dataset": None, "split": context.asked("split")}
    graph = counts.of_dataset(context, "mine")
    assert counts.split_file(context, graph, recorded) == file
    imported = tmp_path / "data" / "mine.h5"
    os.utime(imported, ns=(1, 1))
    assert counts.split_file(context, graph, recorded) == file, (
        "the same bytes, whenever they were written"
    )
    imported.unlink()
    _import(tmp_path, both=False, sparse=False)
    graph = counts.of_dataset(context, "mine")
    assert counts.split_file(context, graph, recorded) is None
    split.run(context, "mine")
    assert counts.split_file(context, graph, recorded) == file
    sidecar = file.with_name("split.h5.provenance.json")
    for text in ("[]", "{", '{"key": {}}', None):
        sidecar.unlink()
        if text is not None:
            sidecar.write_text(text)
        assert counts.split_file(context, graph, recorded) is None


def test_a_graph_in_numbers_has_no_split_whatever_is_called_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _import(tmp_path, both=True, sparse=False)
    numbers = counts.given(1000, 10_000, 10, 10)
    (tmp_path / "data" / "mine.h5").rename(tmp_path / "data" / f"{numbers.name}.h5")
    context = _context(tmp_path)
    split.run(context, numbers.name)
    recorded = {"dataset": None, "split": context.asked("split")}
    assert (
        counts.split_file(context, counts.of_dataset(context, numbers.name), recorded) is not None
    )
    assert counts.split_file(context, numbers, recorded) is None
