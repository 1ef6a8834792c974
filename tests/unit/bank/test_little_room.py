"""A bank's change within little memory: rows go through files, and every byte is the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from taamctl.bank import add, part_rows, store
from taamctl.bank.config import Config
from taamctl.bank.forget import forget
from taamctl.bank.graph_source import Source
from taamctl.bank.part_rows import PartRows
from taamctl.bank.update import update
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.propagation import room
from taamctl.propagation.operator import build
from taamctl.propagation.room import UNLIMITED, Room

LITTLE = Room(1)


def named(graph: NodeGraph) -> NodeGraph:
    names = np.array([f"n{row}" for row in range(graph.num_nodes)], object)
    return replace(graph, given=Given(node_id=names))


def between(graph: NodeGraph, low: int, high: int) -> NodeGraph:
    """Return the graph of the nodes [low, high)."""
    x, edges = graph.features, to_scipy(graph.adjacency, np.int8)
    return replace(
        graph,
        adjacency=from_scipy(edges[low:high, low:high], binary=True),
        features=x.rows(low, high) if isinstance(x, CSR) else x[low:high],
        labels=graph.labels[low:high],
        given=Given(node_id=graph.given.node_id[low:high]),
    )


def lived(folder: Path, config: Config, graph: NodeGraph, have: Room) -> dict[str, bytes]:
    """Return the files of a bank that learned, grew and forgot."""
    store.create(folder, config)
    add.add(folder, Source(between(graph, 0, 110)), per_task=2, room=have)
    update(folder, Source(graph), room=have)
    gone = graph.given.node_id[[3, 40, 150]].tolist()
    forget(folder, Source(graph), gone, room=have)
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.h5")}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["analytic", "linear_probe"])
def test_no_byte_of_a_bank_depends_on_the_limit(
    tmp_path, graph, config: Callable[..., Config], monkeypatch, sparse, method
) -> None:
    monkeypatch.setattr(add.os, "urandom", lambda count: bytes(range(count)))
    draw = np.random.default_rng([sparse, len(method)])
    norm = draw.choice(["none", "row"])
    features = int(draw.integers(9, 300))
    made = named(graph(tuple("abcd"), 45, features, seed=int(draw.integers(99)), sparse=sparse))
    like = config(method, "bank.sums=class", f"precompute.feature_norm={norm}")
    free = lived(tmp_path / "free", like, made, UNLIMITED)
    monkeypatch.setattr(room, "LEAST", int(draw.integers(1, 9)))
    monkeypatch.setattr(room, "ArrayBlocks", None)  # nothing is in memory then
    assert lived(tmp_path / "little", like, made, LITTLE) == free
    assert any(name.startswith("tasks/0004") for name in free)


@pytest.mark.parametrize("method", ["analytic", "taam"])
def test_no_byte_of_a_task_that_is_one_sum_depends_on_the_limit(
    tmp_path, graph, config: Callable[..., Config], monkeypatch, method
) -> None:
    draw = np.random.default_rng(len(method))
    made = Source(graph(tuple("abcd"), 45, int(draw.integers(9, 300)), seed=len(method)))
    files = []
    for name, have in (("free", UNLIMITED), ("little", LITTLE)):
        store.create(tmp_path / name, config(method))
        add.add(tmp_path / name, made, per_task=2, room=have)
        files.append([p.read_bytes() for p in sorted((tmp_path / name).rglob("*.h5"))])
        monkeypatch.setattr(room, "ArrayBlocks", None)  # nothing is in memory then
    assert files[0] == files[1]


@pytest.mark.parametrize("sums", ["class", "task"])
def test_no_byte_depends_on_the_limit_where_neighbours_are_given_beside(
    tmp_path, graph, config: Callable[..., Config], monkeypatch, sums
) -> None:
    monkeypatch.setattr(add.os, "urandom", lambda count: bytes(range(count)))
    made = named(graph(tuple("abcd"), 45, 17, seed=6))
    ends = to_scipy(made.adjacency, np.int8)[150:, :150].tocoo()
    names = made.given.node_id[:150][ends.col]
    both = Outside(
        np.tile(ends.row, 2).astype(np.int64),
        np.tile(names, 2),
        np.repeat([True, False], len(names)),
    )
    late = Source(replace(between(made, 150, 180), outside=both))
    early = Source(between(made, 0, 150))
    files = []
    for name, have in (("free", UNLIMITED), ("little", LITTLE)):
        store.create(tmp_path / name, config("analytic", f"bank.sums={sums}"))
        if sums == "class":
            add.add(tmp_path / name, early, per_task=2)
        if have is LITTLE:
            monkeypatch.setattr(room, "ArrayBlocks", None)  # nothing is in memory then
        teach = update if sums == "class" else add.add
        teach(tmp_path / name, late, context=early, room=have)
        files.append([p.read_bytes() for p in sorted((tmp_path / name).rglob("*.h5"))])
    assert files[0] == files[1]


@pytest.mark.parametrize("have", [UNLIMITED, LITTLE])
def test_rows_are_those_of_a_dense_product(graph, have) -> None:
    draw = np.random.default_rng(have.limit)
    made = named(graph(tuple("abc"), 50, 21, seed=4))
    ids = np.sort(draw.choice(made.num_nodes, 90, replace=False))
    part = PartRows(Source(made), made.adjacency, ids, "add", "none", have)
    inside = to_scipy(made.adjacency, np.int64)[ids][:, ids]
    step = build(from_scipy(inside, binary=True), "add").scipy().toarray()
    assert np.array_equal(part.links, inside.toarray().sum(0) + inside.toarray().sum(1))
    x = made.features[ids].astype(np.float64)
    for count in (1, 7, 90):
        at = draw.permutation(90)[:count]
        with part.rows(at, (0, 2)) as rows:
            for j, found in rows.items():
                right = (np.linalg.matrix_power(step, j) @ x)[at]
                assert np.allclose(found[:count].numpy(), right, rtol=0, atol=1e-12)
                some = torch.from_numpy(np.sort(draw.permutation(count)[: count // 2 + 1]))
                assert np.allclose(found[some].numpy(), right[some.numpy()], rtol=0, atol=1e-12)
    sums = [(np.linalg.matrix_power(step, j) @ x).sum(0) for j in range(4)]
    assert np.allclose(part.hop_sum(3), sums, rtol=1e-12)


def test_as_many_columns_as_there_is_room_for(monkeypatch) -> None:
    monkeypatch.setattr(room, "used", lambda: 100 << 20)
    have = Room(300 << 20, 100 << 20)
    spare = (100 << 20) - room.SLACK
    assert have.columns(spare, 1) is None
    assert have.columns(spare + 1, spare // 50) == 50
    assert have.columns(spare + 1, 1) == part_rows.BLOCK
    assert have.columns(spare + 1, spare) == room.LEAST
    assert UNLIMITED.columns(1 << 60, 1) is None
