"""Banks whose rows see the training nodes of all tasks: exact, whatever came when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from taamctl.bank import add, change, node_record, store, task_file, transfer
from taamctl.bank.bank import load_bank
from taamctl.bank.config import Config
from taamctl.bank.forget import AGAIN, KEPT, forget
from taamctl.bank.graph_source import Source
from taamctl.bank.update import update
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.learning.kernels.class_sums import ClassSums, Rows, collect

Array = np.ndarray
Taught = Callable[..., Path]
CLASSES = tuple("abcd")


def mixed(graph: NodeGraph, seed: int, links: int = 160) -> NodeGraph:
    """Return a graph of named nodes with more edges, between any two of them."""
    ends = np.random.default_rng(seed).integers(graph.num_nodes, size=(links, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    own = to_scipy(graph.adjacency, np.int8).tocoo()
    rows = np.concatenate([own.row, ends[:, 0], ends[:, 1]])
    columns = np.concatenate([own.col, ends[:, 1], ends[:, 0]])
    adjacency, _ = adjacency_from_edges(rows, columns, graph.num_nodes, "g")
    names = np.array([f"n{row}" for row in range(graph.num_nodes)], object)
    return replace(graph, adjacency=adjacency, given=Given(node_id=names))


def some(graph: NodeGraph, rows: Array) -> NodeGraph:
    """Return the subgraph of some nodes, in that order."""
    return replace(
        graph,
        adjacency=from_scipy(to_scipy(graph.adjacency, np.int8)[rows][:, rows], binary=True),
        features=graph.features[rows],
        labels=graph.labels[rows],
        given=Given(node_id=graph.given.node_id[rows]),
    )


@pytest.fixture
def taught(tmp_path: Path, config: Callable[..., Config]) -> Taught:
    """Return what makes a bank that was taught some graphs, two classes per task."""

    def make(name: str, graphs: Sequence[NodeGraph], *more: str) -> Path:
        folder = tmp_path / name
        given = ("bank.sums=class", "bank.edges=all", *more)
        store.create(folder, config("linear_probe", *given))
        for graph in graphs:
            add.add(folder, Source(graph), per_task=2)
        return folder

    return make


def states(folder: Path) -> list[ClassSums]:
    bank = load_bank(folder)
    return [bank.task(k).exact().sums for k in range(len(bank.manifest.tasks))]


def same_sums(one: Path, other: Path) -> bool:
    pairs = zip(states(one), states(other), strict=True)
    return all(
        np.array_equal(a, b)
        for s, t in pairs
        for a, b in ((s.gram, t.gram), (s.cross, t.cross), (s.nodes, t.nodes))
    )


def good(folder: Path) -> bool:
    return all(found.good for found in verify(folder))


@pytest.mark.parametrize("seed", range(3))
def test_sums_are_of_rows_in_the_graph_of_all_training_nodes(taught: Taught, graph, seed) -> None:
    whole = mixed(graph(CLASSES, per_class=30, seed=seed), seed)
    folder = taught("bank", [whole])
    bank = load_bank(folder)
    names, split = node_record.names_of(whole), bank.config.split
    ids = np.flatnonzero(~node_record.drawn_for_val(names, split.seed, split.val))
    a = to_scipy(whole.adjacency, np.float64).toarray()[np.ix_(ids, ids)] + np.eye(len(ids))
    root = 1 / np.sqrt(a.sum(1))
    s = root[:, None] * a * root
    x = whole.features[ids].astype(np.float64)
    params = bank.config.bank.router
    hops = {j: torch.from_numpy(np.linalg.matrix_power(s, j) @ x) for j in params.hops}
    for k, found in enumerate(states(folder)):
        at = np.flatnonzero(whole.labels[ids] // 2 == k)
        rows = Rows({j: h[at] for j, h in hops.items()}, whole.labels[ids][at] % 2)
        wanted = collect(rows, 2, bank.shared.lift, params)
        assert np.array_equal(found.nodes, wanted.nodes)
        assert np.abs(found.cross - wanted.cross).max() <= 4  # of 2^-20: ties in rounding
        assert np.abs(found.gram - wanted.gram).max() <= 2.0**24  # of 2^-40
    apart = taught("apart", [whole], "bank.edges=task")
    assert not same_sums(folder, apart)
    assert good(folder)


@pytest.mark.parametrize("seed", range(3))
def test_no_order_of_tasks_and_nodes_changes_a_bit(taught: Taught, graph, seed) -> None:
    whole = mixed(graph(CLASSES, per_class=40, seed=seed), seed)
    rng = np.random.default_rng(seed)
    right = taught("right", [whole])
    first = np.flatnonzero(whole.labels < 2)
    tasks = taught("tasks", [some(whole, rng.permutation(first)), whole])
    assert same_sums(right, tasks)
    order = rng.permutation(whole.num_nodes)
    nodes = taught("nodes", [some(whole, order[:90])])
    replaced = 0
    for end in (91, 130, len(order)):
        done = update(nodes, Source(some(whole, rng.permutation(order[:end]))))
        replaced += sum(task.replaced for task in done)
    assert replaced > 20
    assert same_sums(right, nodes)
    asked = graph(CLASSES, per_class=2500, seed=9)
    now, then = (load_bank(folder).predict(asked, unknown=0) for folder in (nodes, right))
    assert np.array_equal(now.label, then.label)
    assert good(nodes)
    assert update(nodes, Source(whole)) == []


def test_a_node_changes_the_rows_of_another_task_that_it_links_to(taught: Taught, graph) -> None:
    whole = mixed(graph(CLASSES, per_class=30, seed=4), 4, links=30)
    val = node_record.drawn_for_val(node_record.names_of(whole), 42, 0.2)
    last = np.flatnonzero((whole.labels == 3) & ~val)[-1]
    first = np.flatnonzero((whole.labels == 0) & ~val)[0]
    links = to_scipy(whole.adjacency, np.int8).tolil()
    links[last, first] = links[first, last] = 1
    whole = replace(whole, adjacency=from_scipy(links.tocsr(), binary=True))
    rest = np.flatnonzero(np.arange(120) != last)
    folder = taught("bank", [some(whole, rest)], "split.seed=42", "split.val=0.2")
    before = load_bank(folder)
    done = {task.number: task for task in update(folder, Source(whole))}
    assert same_sums(folder, taught("right", [whole], "split.seed=42", "split.val=0.2"))
    assert (done[1].train, done[2].train) == (0, 1)
    assert done[1].replaced > 0
    after = load_bank(folder)
    assert after.manifest.tasks[0].file != before.manifest.tasks[0].file
    then, now = (bank.task(0).state for bank in (before, after))
    assert all(np.array_equal(now[name], then[name]) for name in then)  # its own model


@pytest.mark.parametrize("count", [1, 12, 60])
def test_what_was_forgotten_is_in_the_rows_of_no_task(taught: Taught, graph, count) -> None:
    whole = mixed(graph(CLASSES, per_class=40, seed=6), 6)
    gone = np.random.default_rng(count).permutation(160)[:count]
    names = [f"n{row}" for row in gone]
    first = some(whole, np.flatnonzero(whole.labels < 2))
    folder = taught("has", [first, whole])
    never = taught("never", [some(whole, np.setdiff1d(np.arange(160), gone))])
    done = forget(folder, Source(whole), names)
    assert same_sums(folder, never)
    assert good(folder)
    told = {task.number: task for task in done.tasks}
    assert all(task.model == (AGAIN if task.train else KEPT) for task in done.tasks)
    trained = [task.number for task in done.tasks if task.train]
    if trained == [2]:  # task 1 keeps its model, and its rows are others now
        assert told[1].replaced > 0
    val = node_record.drawn_for_val(names, 42, 0.2)
    first = [1 + int(label) // 2 for label in whole.labels[gone][~val]]
    _require_gone(folder, names, min(first, default=99))


def _require_gone(folder: Path, names: Sequence[str], since: int) -> None:
    """Look into every file that is left: none knows the nodes, or is of a time when one did.

    Args:
        since: the generation in which the first of them was learned.
    """
    bank = load_bank(folder)
    wanted = {key.tobytes() for key in node_record.keys_of(names, bank.shared.salt)}
    for path in (folder / "tasks").iterdir():
        record = task_file.read_known(path)
        assert not wanted & {key.tobytes() for key in record.key}
    left = [path.relative_to(folder).as_posix() for path in folder.rglob("*.h5")]
    earlier = [file for file in left if file not in bank.manifest.files]
    assert all(store.number_of(file) < since for file in earlier)


def test_rows_that_saw_a_node_before_any_file_that_is_left_forget_it(taught: Taught, graph) -> None:
    """The file of the generation in which it came is gone: forgetting another node took it."""
    whole = mixed(graph(CLASSES, per_class=30, seed=3), 3)
    folder = taught("has", [whole])
    names = node_record.names_of(whole)
    val = node_record.drawn_for_val(names, 42, 0.2)
    links = to_scipy(whole.adjacency, np.int8)
    to_first = (links @ (whole.labels < 2)) > 0
    late = np.flatnonzero((whole.labels >= 2) & ~val & to_first)[0]
    calm = np.flatnonzero((whole.labels >= 2) & val)[0]
    forget(folder, Source(whole), [names[calm]])
    done = forget(folder, Source(whole), [names[late]])
    assert {task.number: task.replaced > 0 for task in done.tasks}[1]
    left = np.setdiff1d(np.arange(whole.num_nodes), [late, calm])
    assert same_sums(folder, taught("never", [some(whole, left)]))
    _require_gone(folder, [names[late], names[calm]], since=2)
    assert good(folder)


def test_a_bank_that_was_exported_forgets_in_all_tasks(
    taught: Taught, graph, tmp_path: Path
) -> None:
    """An export has the present files alone."""
    whole = mixed(graph(CLASSES, per_class=30, seed=7), 7)
    names = node_record.names_of(whole)
    alone = np.flatnonzero(whole.labels == 3)[-3:]
    first = np.setdiff1d(np.arange(whole.num_nodes), alone)
    folder = taught("has", [some(whole, first)])
    update(folder, Source(whole))
    transfer.export(folder, tmp_path / "bank.tar")
    restored = tmp_path / "restored"
    transfer.restore(tmp_path / "bank.tar", restored)
    val = node_record.drawn_for_val(names, 42, 0.2)
    to_first = (to_scipy(whole.adjacency, np.int8) @ (whole.labels < 2)) > 0
    gone = np.flatnonzero((whole.labels >= 2) & ~val & to_first)[:1]
    forget(restored, Source(whole), [names[gone[0]]])
    left = np.setdiff1d(np.arange(whole.num_nodes), gone)
    assert same_sums(restored, taught("never", [some(whole, left)]))


def test_a_model_learned_again_has_not_seen_what_the_context_holds(
    tmp_path: Path, config: Callable[..., Config], graph
) -> None:
    """The node to forget lies in the context; a bank that was given the whole graph is the same."""
    whole = mixed(graph(CLASSES, per_class=40, seed=8), 8)
    old, new = np.arange(130), np.arange(130, 160)
    banks = []
    for name in ("context", "whole"):
        banks.append(tmp_path / name)
        store.create(banks[-1], config("linear_probe", "bank.sums=class"))
        add.add(banks[-1], Source(whole), per_task=2)
    ends = to_scipy(whole.adjacency, np.int8).tocoo()
    out = (ends.row >= 130) & (ends.col < 130)
    node_id = whole.given.node_id[ends.col[out]]
    outside = Outside(ends.row[out] - 130, node_id, np.ones(out.sum(), bool))
    late = Source(replace(some(whole, new), outside=outside))
    forget(banks[0], late, ["n3"], context=Source(some(whole, old)))
    forget(banks[1], Source(whole), ["n3"])
    assert same_sums(*banks)
    for k in range(2):
        mine, right = (load_bank(folder).task(k) for folder in banks)
        assert np.allclose(mine.reference, right.reference, atol=2e-3)
        assert np.allclose(mine.quantiles, right.quantiles, atol=1e-3)


def test_features_that_changed_are_exchanged_in_all_tasks(taught: Taught, graph) -> None:
    then = mixed(graph(CLASSES, per_class=40, seed=5), 5)
    x = then.features.copy()
    x[17] *= 3
    now = mixed(replace(then, features=x), 5)
    folder = taught("bank", [then])
    with pytest.raises(TaamctlError, match="have other features or edges"):
        update(folder, Source(now))
    one = np.flatnonzero(now.labels < 2)
    with pytest.raises(TaamctlError, match="lacks nodes of task 2"):
        update(folder, Source(some(now, one)), before=Source(some(then, one)))
    done = update(folder, Source(now), before=Source(then))
    assert len(done) == 2
    assert same_sums(folder, taught("right", [now]))
    assert good(folder)


def test_what_cannot_be_exact_is_refused_and_changes_nothing(taught: Taught, graph) -> None:
    whole = mixed(graph(CLASSES, per_class=30, seed=1), 1)
    folder = taught("bank", [some(whole, np.arange(100))])
    before = {path: path.read_bytes() for path in store.files(folder)}
    one = np.flatnonzero((whole.labels < 2) | (np.arange(120) >= 100))
    for call, said in (
        (lambda: update(folder, Source(some(whole, one))), "have other features or edges"),
        (
            lambda: forget(folder, Source(some(whole, one)), ["n3"]),
            "lacks nodes to learn again from|have other features",
        ),
        (lambda: change.remove(folder, 1), "rows of the other tasks have seen nodes of task 1"),
    ):
        with pytest.raises(TaamctlError, match=said):
            call()
    assert {path: path.read_bytes() for path in store.files(folder)} == before
    with pytest.raises(TaamctlError, match="edges: all, with sums: task"):
        taught("other", [], "bank.sums=task")
