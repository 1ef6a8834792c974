"""Nodes that come and nodes that go: the bank is that of all its nodes at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from taamctl.bank import add, change, manifest, store, task_file
from taamctl.bank.bank import load_bank
from taamctl.bank.config import Config
from taamctl.bank.forget import AGAIN, AWAY, KEPT, forget
from taamctl.bank.graph_source import Source
from taamctl.bank.statement import checksum, statement
from taamctl.bank.update import update
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.graph.canonical import from_scipy, to_scipy

Made = Callable[..., Path]
Array = np.ndarray


def named(graph: NodeGraph) -> NodeGraph:
    """Return a graph whose nodes are called n0, n1, ..."""
    names = np.array([f"n{row}" for row in range(graph.num_nodes)], object)
    return replace(graph, given=Given(node_id=names))


def some(graph: NodeGraph, rows: Sequence[int] | Array) -> NodeGraph:
    """Return the subgraph of some nodes, in that order."""
    at = np.asarray(rows)
    x = graph.features
    held = from_scipy(to_scipy(x)[at]) if isinstance(x, CSR) else x[at]
    return replace(
        graph,
        adjacency=from_scipy(to_scipy(graph.adjacency, np.int8)[at][:, at], binary=True),
        features=held,
        labels=graph.labels[at],
        given=Given(node_id=graph.given.node_id[at]),
    )


def all_but(graph: NodeGraph, names: Sequence[str]) -> NodeGraph:
    return some(graph, np.flatnonzero(~np.isin(graph.given.node_id.astype(str), names)))


def thin(graph: NodeGraph) -> NodeGraph:
    """Return a graph with a quarter of its edges."""
    ends = to_scipy(graph.adjacency, np.int8).tocoo()
    kept = (np.minimum(ends.row, ends.col) + 7 * np.maximum(ends.row, ends.col)) % 4 == 0
    fewer = type(ends)((ends.data[kept], (ends.row[kept], ends.col[kept])), ends.shape)
    return replace(graph, adjacency=from_scipy(fewer.tocsr(), binary=True))


@pytest.fixture
def taught(tmp_path: Path, config: Callable[..., Config]) -> Made:
    """Return what makes a bank of two classes per task that was taught one graph."""

    def make(name: str, graph: NodeGraph, *overrides: str) -> Path:
        folder = tmp_path / name
        store.create(folder, config("linear_probe", "bank.sums=class", *overrides))
        add.add(folder, Source(graph), per_task=2)
        return folder

    return make


def logits(folder: Path, graph: NodeGraph) -> Array:
    """Return the regression's outputs for the rows of a graph, hop by hop."""
    bank = load_bank(folder)
    x = torch.from_numpy(np.asarray(graph.features, np.float32))
    hops = bank.config.bank.router.hops
    profile = bank.shared.lift.profile(dict.fromkeys(hops, x), hops)
    return bank.router.scores(profile).numpy()


def sums_of(folder: Path) -> list[Array]:
    bank = load_bank(folder)
    states = [bank.task(k).exact() for k in range(len(bank.manifest.tasks))]
    return [a for s in states for a in (s.sums.gram, s.sums.cross, s.sums.nodes)]


def same_sums(one: Path, other: Path) -> bool:
    return all(map(np.array_equal, sums_of(one), sums_of(other)))


def good(folder: Path) -> bool:
    return all(f.good for f in verify(folder))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("batches", [2, 7])
def test_order_and_size_of_updates_change_no_bit_of_the_sums_and_no_answer(
    taught: Made, graph, batches, sparse
) -> None:
    whole = named(graph(tuple("abcd"), per_class=70, seed=3, sparse=sparse))
    right = taught("right", whole)
    rng = np.random.default_rng(batches)
    order = rng.permutation(whole.num_nodes)
    cuts = np.sort(rng.choice(np.arange(120, len(order)), batches - 1, replace=False))
    grown = taught("grown", some(whole, order[: cuts[0]]))
    for end in [*cuts[1:], len(order)]:
        update(grown, Source(some(whole, rng.permutation(order[:end]))))
    assert same_sums(right, grown)
    asked = graph(tuple("abcd"), per_class=2500, seed=9)
    now, then = (load_bank(folder).predict(asked, unknown=0) for folder in (grown, right))
    assert len(now.label) == 10_000
    assert now.names == then.names
    assert good(grown)
    tasks = load_bank(grown).manifest.tasks
    assert [(t.train, t.val) for t in tasks] == [
        (t.train, t.val) for t in load_bank(right).manifest.tasks
    ]


def test_parts_without_edges_between_them_need_no_old_node(taught: Made, graph) -> None:
    whole = named(graph(tuple("abcd"), per_class=60, seed=4))
    even = np.arange(whole.num_nodes) % 2 == 0
    ends = to_scipy(whole.adjacency, np.int8).tocoo()
    kept = even[ends.row] == even[ends.col]
    cut = type(ends)((ends.data[kept], (ends.row[kept], ends.col[kept])), ends.shape).tocsr()
    whole = replace(whole, adjacency=from_scipy(cut, binary=True))
    right = taught("right", whole)
    grown = taught("grown", some(whole, np.flatnonzero(even)))
    probe = load_bank(grown).task(0).state
    (first, second) = update(grown, Source(some(whole, np.flatnonzero(~even))))
    assert same_sums(right, grown)
    assert (first.replaced, first.model, first.thresholds, first.prototype) == (
        0,
        False,
        False,
        True,
    )
    bank = load_bank(grown)
    assert all(np.array_equal(bank.task(0).state[k], v) for k, v in probe.items())
    assert np.allclose(bank.task(1).hop_mean, load_bank(right).task(1).hop_mean, atol=1e-6)
    assert good(grown)
    done = update(grown, Source(whole))  # nothing is new; models are behind and are learned again
    assert all(task.model and task.train == 0 for task in done)
    assert np.allclose(
        load_bank(grown).task(0).reference, load_bank(right).task(0).reference, atol=1e-3
    )
    assert update(grown, Source(whole)) == []
    assert second.train + first.train > 60


def test_new_nodes_that_link_to_old_ones_need_only_what_is_near(taught: Made, graph) -> None:
    whole = thin(named(graph(("a", "b"), per_class=200, seed=5)))
    right = taught("right", whole)
    grown = taught("grown", some(whole, np.arange(380)))
    links = to_scipy(whole.adjacency, np.int8)
    near = np.arange(400) >= 380
    for _ in range(6):
        near |= (links @ near) > 0
    assert 20 < near.sum() < 390
    (task,) = update(grown, Source(some(whole, np.flatnonzero(near))))
    assert task.replaced > 0
    assert same_sums(right, grown)


def test_old_neighbours_may_stand_in_the_context(taught: Made, graph) -> None:
    whole = named(graph(tuple("abcd"), per_class=50, seed=5))
    right = taught("right", whole)
    old, new = some(whole, np.arange(160)), some(whole, np.arange(160, 200))
    ends = to_scipy(whole.adjacency, np.int8).tocoo()
    out = (ends.row >= 160) & (ends.col < 160)  # both directions of every edge are there
    outside = Outside(
        ends.row[out] - 160, whole.given.node_id[ends.col[out]], np.ones(out.sum(), bool)
    )
    grown = taught("grown", old)
    linking = Source(replace(new, outside=outside))
    done = update(grown, linking, context=Source(old))
    assert sum(task.replaced for task in done) > 0
    assert same_sums(right, grown)
    without = Source(replace(old, given=replace(old.given, node_id=None)))
    again = taught("again", old)
    with pytest.raises(TaamctlError, match="the context lacks"):
        update(again, linking, context=without)
    with pytest.raises(TaamctlError, match="learns a new class from its own nodes alone"):
        add.add(again, linking, context=Source(old))


def test_features_and_edges_of_known_nodes_that_changed(taught: Made, graph) -> None:
    then = thin(named(graph(tuple("abcd"), per_class=60, seed=5)))
    now = named(graph(tuple("abcd"), per_class=60, seed=5))  # the same nodes with more edges
    x = now.features.copy()
    x[17] *= 3
    x[40] += 0.5
    now = replace(now, features=x)
    folder, right = taught("grown", some(then, np.arange(200))), taught("right", now)
    with pytest.raises(TaamctlError, match="have other features or edges"):
        update(folder, Source(some(now, np.arange(200))))
    rows = np.random.default_rng(1).permutation(240)
    done = update(folder, Source(some(now, rows)), before=Source(some(then, rows[::-1])))
    assert all(task.replaced > 20 for task in done)
    assert same_sums(folder, right)
    assert good(folder)
    with pytest.raises(TaamctlError, match=r"lacks \d+ of the nodes that task 1 was learned from"):
        update(folder, Source(now), before=Source(some(then, np.arange(180))))


@pytest.mark.parametrize("count", [1, 40, 100])
@pytest.mark.parametrize("method", ["linear_probe", "taam"])
def test_a_bank_that_forgot_is_one_that_never_saw_them(
    tmp_path: Path, config, graph, count, method
) -> None:
    whole = named(graph(tuple("abcd"), per_class=100, seed=6))
    names = [f"n{row}" for row in np.random.default_rng(count).permutation(400)[:count]]
    banks = []
    for name, learned in (("has", whole), ("never", all_but(whole, names))):
        banks.append(tmp_path / name)
        store.create(banks[-1], config(method, "bank.sums=class"))
        add.add(banks[-1], Source(learned), per_task=2)
    folder, never = banks
    done = forget(folder, Source(whole), names)
    assert same_sums(folder, never)
    asked = graph(tuple("abcd"), per_class=100, seed=8)
    assert np.abs(logits(folder, asked) - logits(never, asked)).max() < 1e-5
    for k in range(2):
        mine, right = load_bank(folder).task(k), load_bank(never).task(k)
        assert np.allclose(mine.reference, right.reference, atol=2e-3)
        assert np.allclose(mine.hop_mean, right.hop_mean, atol=1e-6)
        assert (mine.rows is None) == (right.rows is None)
    assert good(folder)
    assert sum(t.train + t.val for t in done.tasks) == count
    known = task_file.read_known(folder / done.after.tasks[0].file)
    assert len(known.key) == done.after.tasks[0].train + done.after.tasks[0].val


def test_nothing_of_what_was_forgotten_is_left_in_the_folder(taught: Made, graph) -> None:
    whole = named(graph(tuple("abcdef"), per_class=30, seed=2))
    folder = taught("bank", some(whole, np.flatnonzero(whole.labels < 4)))
    add.add(folder, Source(whole))
    change.remove(folder, 2)
    gone = [_trained(folder, whole)[0], _trained(folder, whole, 2)[0]]
    before = {p.name for p in (folder / "tasks").iterdir()}
    done = forget(folder, Source(whole), gone)
    assert set(done.deleted) >= {"router-0001.h5", "router-0002.h5", "router-0003.h5"}
    assert {f.partition("/")[2] for f in done.deleted if f.startswith("tasks/")} == before
    assert [t.model for t in done.tasks] == [AGAIN, KEPT]
    assert all(t.thresholds == AGAIN for t in done.tasks)
    for path in (folder / "tasks").iterdir():
        assert not _keys(path) & _wanted(folder, gone)
    assert good(folder)
    with pytest.raises(TaamctlError, match="gone or damaged"):
        change.rollback(folder, 3)
    with pytest.raises(TaamctlError, match="does not know 2 of the 2 nodes"):
        forget(folder, Source(whole), gone)
    update(folder, Source(whole))
    assert good(folder)
    assert not any((folder / file).exists() for file in done.deleted)


def _keys(path: Path) -> set[bytes]:
    return {key.tobytes() for key in task_file.read_known(path).key}


def _wanted(folder: Path, names: Sequence[str]) -> set[bytes]:
    from taamctl.bank.node_record import keys_of

    return {key.tobytes() for key in keys_of(names, load_bank(folder).shared.salt)}


def _trained(folder: Path, graph: NodeGraph, label: int = 0) -> list[str]:
    """Return the names of the nodes of a class that the bank was trained on."""
    names = graph.given.node_id[graph.labels == label].tolist()
    records = [task_file.read_known(path) for path in (folder / "tasks").iterdir()]
    known = {k.tobytes() for r in records for k in r.key[r.part == 0]}
    return [name for name in names if _wanted(folder, [name]) <= known]


def test_what_cannot_be_learned_again_is_refused_or_taken_away(taught: Made, graph) -> None:
    whole = thin(named(graph(tuple("abcd"), per_class=150, seed=7)))
    folder = taught("bank", whole)
    first = store.current(folder)
    name = _trained(folder, whole)[0]
    links = to_scipy(whole.adjacency, np.int8)
    near = whole.given.node_id == name
    for _ in range(8):
        near |= (links @ near) > 0
    assert near.sum() < 400
    part = some(whole, np.flatnonzero(near))
    with pytest.raises(TaamctlError, match="model, prototype, thresholds of task 1"):
        forget(folder, Source(part), [name])
    assert store.current(folder) == first
    done = forget(folder, Source(part), [name], purge=True)
    assert [t.model for t in done.tasks] == [AWAY, KEPT]
    assert all(t.thresholds == AWAY for t in done.tasks)
    never = taught("never", all_but(whole, [name]))
    assert same_sums(folder, never)
    assert good(folder)
    bank = load_bank(folder)
    assert not bank.predict(whole, unknown=0.5).unknown.any()
    with pytest.raises(TaamctlError, match="no model of its own"):
        bank.predict(whole, decide="expert")
    with pytest.raises(TaamctlError, match="has no prototype"):
        bank.predict(whole, decide="expert", router="prototype")
    done = update(folder, Source(all_but(whole, [name])))
    assert all(task.model and task.thresholds for task in done)
    assert load_bank(folder).predict(whole, decide="expert", unknown=0.5).unknown.any()


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        ("feature", "nodes of task 1 have other features or edges"),
        ("edge", "nodes of task 1 have other features or edges"),
        ("label", "1 nodes have another label than when they were learned"),
        ("twice", "2 nodes of g have the name 'n0'"),
    ],
)
def test_other_data_than_what_was_learned_is_refused_and_changes_nothing(
    taught: Made, graph, alter, said
) -> None:
    whole = named(graph(("a", "b"), per_class=40, seed=1))
    folder = taught("bank", whole)
    before = {p: p.read_bytes() for p in store.files(folder)}
    name = _trained(folder, whole)[0]
    other = _altered(whole, alter, int(name[1:]))
    with pytest.raises(TaamctlError, match=said):
        forget(folder, Source(other), [name])
    assert {p: p.read_bytes() for p in store.files(folder)} == before


def _altered(graph: NodeGraph, what: str, row: int) -> NodeGraph:
    if what == "feature":
        x = graph.features.copy()
        x[row, 0] += 0.01
        return replace(graph, features=x)
    if what == "edge":
        links = to_scipy(graph.adjacency, np.int8).tolil()
        links[row], links[:, row] = 0, 0
        return replace(graph, adjacency=from_scipy(links.tocsr(), binary=True))
    if what == "label":
        labels = graph.labels.copy()
        labels[row] = 1 - labels[row]
        return replace(graph, labels=labels)
    names = graph.given.node_id.copy()
    names[1] = names[0]
    return replace(graph, given=Given(node_id=names))


def test_refusals_say_what_to_do(taught: Made, bank: Path, graph) -> None:
    whole = named(graph(("a", "b"), per_class=20, seed=1))
    folder = taught("exact", whole)
    of_b = [f"n{row}" for row in np.flatnonzero(whole.labels == 1)]
    for call, said in (
        (lambda: update(bank, Source(whole)), "keeps one rounded sum per task"),
        (lambda: forget(bank, Source(whole), ["n0"]), "keeps one rounded sum per task"),
        (lambda: forget(folder, Source(whole), []), "no node is named"),
        (lambda: forget(folder, Source(whole), ["n0", "zoe"]), "such as 'zoe'"),
        (lambda: forget(folder, Source(whole), of_b), "b would have no node left in task 1"),
        (
            lambda: forget(folder, Source(all_but(whole, of_b[:5])), of_b[:5]),
            "lacks . of the nodes",
        ),
        (lambda: add.add(folder, Source(named(graph(("c",), seed=3)))), "knows 30 nodes"),
    ):
        with pytest.raises(TaamctlError, match=said):
            call()
    assert good(folder)


def test_sizes_that_were_measured_on_them_cannot_be_forgotten(taught: Made, graph) -> None:
    whole = named(graph(("a", "b"), per_class=20, seed=1))
    folder = taught("bank", whole, "precompute.feature_norm=column")
    with pytest.raises(TaamctlError, match="sizes of all features were measured on task 1"):
        forget(folder, Source(whole), _trained(folder, whole)[:1])


def test_a_kill_after_the_generation_leaves_nothing_of_them(
    taught: Made, graph, tmp_path: Path
) -> None:
    whole = named(graph(("a", "b"), per_class=20, seed=1))
    folder = taught("bank", whole)
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    done = forget(folder, Source(whole), ["n3"])
    for file in done.deleted:  # as if it had been killed before it deleted them
        shutil.copy(before / file, folder / file)
    said = {f.what for f in verify(folder) if not f.good}
    assert said == set(done.deleted)
    assert update(folder, Source(all_but(whole, ["n3"]))) == []
    assert good(folder)
    assert not any((folder / file).exists() for file in done.deleted)
    (folder / manifest.NAME).write_bytes((before / manifest.NAME).read_bytes())
    update(folder, Source(all_but(whole, ["n3"])))
    assert store.current(folder).generation == done.after.generation


def test_the_statement_names_no_node_and_carries_its_checksum(taught: Made, graph) -> None:
    whole = named(graph(("a", "b"), per_class=20, seed=1))
    folder = taught("bank", whole)
    said = statement(folder, forget(folder, Source(whole), ["n3", "n11"]))
    assert "n11" not in str(said)
    assert said["sha256"] == checksum(said)
    assert said["nodes"] == 2
    assert (said["kind"], said["schema_version"]) == ("taamctl.forget", 1)
    assert said["manifest"] == store.current(folder).digest
    assert checksum({**said, "nodes": 3}) != said["sha256"]


def test_two_banks_of_one_graph_cannot_be_linked_by_their_records(taught: Made, graph) -> None:
    whole = named(graph(("a", "b"), per_class=20, seed=1))
    one, two = taught("one", whole), taught("two", whole)
    assert same_sums(one, two)
    (first,), (second,) = store.current(one).tasks, store.current(two).tasks
    assert not _keys(one / first.file) & _keys(two / second.file)
