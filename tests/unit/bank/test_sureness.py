"""A bank keeps what tells how sure it is, and says where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from taamctl.bank import add, store, sureness
from taamctl.bank.bank import load_bank
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.bank.verify import verify
from taamctl.core.types import NodeGraph

MakeGraph = Callable[..., NodeGraph]


def measured(folder: Path) -> sureness.Sureness:
    bank = load_bank(folder)
    tasks = [bank.task(position) for position in range(len(bank.manifest.tasks))]
    return sureness.measured(tasks, bank.config, bank.router)


@pytest.fixture
def alike(tmp_path: Path, config: Callable[..., Config], graph: MakeGraph) -> Path:
    """Return a bank of two tasks that nothing tells apart: the same nodes under other names."""
    folder = tmp_path / "alike"
    store.create(folder, config())
    first = graph(("a", "b"), seed=1)
    add.add(folder, Source(first))
    add.add(folder, Source(replace(first, class_names=("c", "d"))))
    return folder


def test_what_is_kept_is_of_validation_nodes_and_small(bank: Path) -> None:
    opened = load_bank(bank)
    for position in range(2):
        task = opened.task(position)
        assert task.halves is not None
        assert task.rows is not None
        assert task.halves.shape == (100, 2 * 12)  # two levels of AMP
        assert task.rows.shape == (task.nodes[1], 24)
        assert len(np.unique(task.halves, axis=0)) > 60, "of 400 halves of 12 nodes"


def test_tasks_that_lie_apart_are_safe_and_nothing_is_said(bank: Path, graph: MakeGraph) -> None:
    found = measured(bank)
    assert {name: shares.min() for name, shares in found.by_name.items() if name != "node"} == {
        "ridge": 1.0,
        "amp/euclid": 1.0,
        "amp/centred": 1.0,
        "amp/cosine": 1.0,
    }
    assert found.by_name["node"].min() > 0.5
    assert [f.said for f in verify(bank) if f.what == "routing"] == [
        "by validation, tasks are told apart safely"
    ]
    mixed = graph(("a", "c"), seed=3)
    for unit in ("node", "graph"):
        said = load_bank(bank).predict(mixed, unit=unit, decide="expert").notes
        assert not [note for note in said if "safe" in note]


def test_tasks_that_nothing_tells_apart_are_told_of(alike: Path, graph: MakeGraph) -> None:
    found = measured(alike)
    assert found.by_name["amp/cosine"].min() == 0
    (said, *_) = [f for f in verify(alike) if f.what == "routing"]
    assert said.good, "it is no fault of the bank"
    assert said.said.startswith("warning: tasks")
    notes = load_bank(alike).predict(graph(("a", "b"), seed=3), unit="graph", decide="expert").notes
    (note,) = [note for note in notes if "not safe for a graph" in note]
    assert "of the halves of task" in note
    assert note.endswith("no other routing is safe there")


def sure(**shares: tuple[float, float]) -> sureness.Sureness:
    known = {"node": (1.0, 1.0), "ridge": (1.0, 1.0)}
    known |= {f"amp/{metric}": (1.0, 1.0) for metric in sureness.METRICS}
    named = {name.replace("_", "/"): value for name, value in shares.items()}
    return sureness.Sureness({n: np.array(v) for n, v in {**known, **named}.items()})


def test_auto_takes_what_validation_is_most_sure_of_and_the_usual_of_equal_ones() -> None:
    assert sure().graph_router("cosine") == ("ridge", "cosine")
    unsure = sure(ridge=(0.5, 1.0), amp_cosine=(0.0, 1.0))
    assert unsure.graph_router("cosine") == ("prototype", "euclid")
    unknown = sureness.Sureness({n: np.full(2, np.nan) for n in sure().by_name})
    assert unknown.graph_router("cosine") == ("ridge", "cosine")
    assert sureness.warning(unknown, "ridge", "cosine", "graph", (1, 2)) == ""


def test_a_warning_names_the_task_the_share_and_the_way_out() -> None:
    unsure = sure(ridge=(0.5, 1.0), node=(0.9, 0.3))
    said = sureness.warning(unsure, "ridge", "cosine", "component", (4, 7))
    assert "50 % of the halves of task 4's" in said
    assert said.endswith("--router prototype --decide expert")
    nodes = sureness.warning(unsure, "ridge", "cosine", "node", (4, 7))
    assert "30 % of the validation nodes of task 7" in nodes
    assert sureness.warning(unsure, "prototype", "cosine", "graph", (4, 7)) == ""
    assert sureness.warning(unsure, "ridge", "cosine", "graph", (4,)) == "", "of one task"


def test_auto_decides_as_what_it_chose_and_an_older_bank_as_before(
    bank: Path, graph: MakeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = graph(("a", "b"), seed=3)
    ways = {
        router: load_bank(bank).predict(mixed, unit="graph", decide="expert", router=router)
        for router in ("auto", "ridge", "prototype")
    }
    assert np.array_equal(ways["auto"].confidence, ways["ridge"].confidence)
    monkeypatch.setattr(sureness, "measured", lambda tasks, config, router: sure(ridge=(0.0, 0.0)))
    chosen = load_bank(bank).predict(mixed, unit="graph", decide="expert")
    assert np.array_equal(chosen.confidence, ways["prototype"].confidence)
    assert not np.array_equal(chosen.confidence, ways["ridge"].confidence)
