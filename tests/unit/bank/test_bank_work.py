"""What a change of a bank does with a graph, in numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taamctl.bank import add, store
from taamctl.bank.graph_source import Source
from taamctl.cli.bank_work import work_of
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.planning import counts


def test_the_rows_at_work_are_those_of_the_largest_task(tmp_path, config) -> None:
    rng = np.random.default_rng(5)
    labels = rng.choice(5, 300, p=[0.3, 0.1, 0.15, 0.4, 0.05]).astype(np.int64)
    labels[:40] = -1
    arrival = np.array([0, 1, 0, 1, 2])
    none = CSR(np.zeros(301, np.int64), np.zeros(0, np.int32), None, (300, 300))
    x = rng.random((300, 4), np.float32)
    made = NodeGraph("g", none, x, labels, tuple("abcde"), (), Given(arrival=arrival))
    _imported.write(tmp_path / "own.h5", made, {"made": "here"})
    graph = counts.of_file(tmp_path / "own.h5")
    sizes = np.bincount(labels[labels >= 0], minlength=5)
    folder, like = tmp_path / "bank", config("analytic", "bank.sums=class", "split.val=0.2")
    store.create(folder, like)
    now = store.current(folder)
    largest = max(sizes[arrival == t].sum() for t in range(3)) / 300
    work = work_of(now, like, graph)
    assert np.isclose(work.rows, 0.8 * largest)
    assert (work.beside, work.experts, work.sums) == (0, False, 2)
    few = replace(made, labels=np.where(np.isin(labels, [1, 4]), labels, -1))
    add.add(folder, Source(few))
    now = store.current(folder)
    wide = work_of(now, like, graph, wide=True)
    first, second = (sizes[list(at)].sum() for at in ((1,), (4,)))
    assert np.isclose(wide.rows, 0.8 * max(first, second) / 300)
    assert wide.sums == 2
    known = max(t.train + t.val for t in now.tasks)
    beside = work_of(now, like, graph, wide=True, beside=150)
    assert beside.beside == 0.5
    assert np.isclose(beside.rows, 0.8 * (max(first, second) + known) / 300)


def test_rows_that_see_all_tasks_have_all_nodes_beside_them(tmp_path, config) -> None:
    labels = np.repeat(np.arange(4), 25)
    none = CSR(np.zeros(101, np.int64), np.zeros(0, np.int32), None, (100, 100))
    x = np.random.default_rng(0).random((100, 4), np.float32)
    given = Given(arrival=np.array([0, 0, 1, 1]))
    made = NodeGraph("g", none, x, labels, tuple("abcd"), (), given)
    _imported.write(tmp_path / "own.h5", made, {"made": "here"})
    graph = counts.of_file(tmp_path / "own.h5")
    like = config("analytic", "bank.sums=class", "bank.edges=all")
    store.create(tmp_path / "bank", like)
    empty = store.current(tmp_path / "bank")
    work = work_of(empty, like, graph)
    assert (work.beside, work.sums) == (1.0, 2)
    assert work.rows < 0.5
    add.add(tmp_path / "bank", Source(made), per_task=2)
    now = store.current(tmp_path / "bank")
    assert work_of(now, like, graph).sums == 6
    assert work_of(now, like, graph, wide=True).sums == 4
