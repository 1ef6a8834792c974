"""Every method in the registry keeps the contract: adding a file is enough to be tested here."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch

from taamctl.core import registry
from taamctl.core.types import QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.method import Facts, Method
from taamctl.learning.params import TrainParams
from taamctl.runtime.params import PACKAGED, bind, read

NAMES = registry.names("taamctl.methods")
INFO = StreamInfo(10, ((0, 2), (2, 4), (4, 5)))  # the last task has one class
TRAIN = TrainParams(epochs=5, lr=0.01, weight_decay=0.0005, balance=True, node_batch=0, device="cpu", threads=1)
CPU = torch.device("cpu")


def tasks(seed: int = 0, one_node: bool = False) -> list[TaskData]:
    rng = torch.Generator().manual_seed(seed)
    made = []
    for k, (low, high) in enumerate(INFO.bounds):
        y = torch.arange(20) % (high - low)
        if one_node and high - low > 1:
            y = torch.tensor([0] * 19 + [1])
        h = torch.rand(20, 10, generator=rng) + 3 * torch.eye(10)[low + y]
        made.append(TaskData(Task(k, low, high), h, y + low, torch.ones(20)))
    return made


def make(name: str, seed: int = 1, train: TrainParams = TRAIN, **changes: Any) -> Method:
    module = registry.load("taamctl.methods", name)
    own = None
    if module.Params is not None:
        faults: list[str] = []
        own = bind(module.Params, {**read(PACKAGED)["methods"][name], **changes}, name, faults)
        assert not faults
    method: Method = module.Method(own, INFO, train, seed, CPU)
    return method


def learn_all(method: Method, data: list[TaskData]) -> list[dict[str, np.ndarray]]:
    states = []
    for k in range(len(data)):
        if not method.trains(k):
            states.append({})
            continue
        method.learn(tuple(data[:k + 1]) if method.facts.sees == "all" else (data[k],))
        states.append(method.state())
    return states


def equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[n], b[n]) for n in a)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_facts_are_declared(name: str) -> None:
    module = registry.load("taamctl.methods", name)
    facts = module.Method.facts
    assert isinstance(facts, Facts)
    assert facts.sees in ("current", "all")
    assert facts.task_id in ("inferred", "given", "none")
    assert facts.source
    assert "Source:" in inspect.getdoc(module.Method)
    assert make(name).scope in ("all_seen", "up_to_task", "task_only")


def test_same_seed_same_bits_and_inputs_untouched(name: str) -> None:
    data = tasks()
    before = [(t.h.clone(), t.y.clone()) for t in data]
    first, second = learn_all(make(name), data), learn_all(make(name), data)
    assert all(equal(a, b) for a, b in zip(first, second, strict=True))
    assert any(first), "nothing was learned"
    for (h, y), t in zip(before, data, strict=True):
        assert torch.equal(h, t.h)
        assert torch.equal(y, t.y)


def test_results_do_not_depend_on_the_global_random_state(name: str) -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    first = learn_all(make(name), tasks())
    torch.manual_seed(2)
    np.random.seed(2)
    assert all(equal(a, b) for a, b in zip(first, learn_all(make(name), tasks()), strict=True))


def test_state_round_trip_gives_the_same_predictions(name: str) -> None:
    data, method = tasks(), make(name)
    states = learn_all(method, data)
    method.load(method.shared(), states)
    fresh = make(name, seed=99)  # nothing may come from the seed that the state should hold
    fresh.load(method.shared(), states)
    query = QueryGraph(data[1].h, data[1].deg)
    for task_id in range(3):
        a, b = method.predict(query, task_id), fresh.predict(query, task_id)
        assert all(torch.equal(a.labels[s], b.labels[s]) for s in a.labels)


def test_predictions_stay_in_their_scope_and_among_seen_classes(name: str) -> None:
    data, method = tasks(), make(name)
    states = learn_all(method, data)
    for stage in range(3):
        if not method.trains(stage):
            continue
        method.load(method.shared(), states[:stage + 1])
        for task_id in range(stage + 1):
            low, high = INFO.bounds[task_id]
            labels = method.predict(QueryGraph(data[0].h, data[0].deg), task_id).labels
            assert all(v.shape == (20,) and v.dtype == torch.int64 for v in labels.values())
            assert int(labels["all_seen"].max()) < INFO.bounds[stage][1]
            assert int(labels["up_to_task"].max()) < high
            assert int(labels["task_only"].min()) >= low
            assert int(labels["task_only"].max()) < high


def test_node_order_of_a_query_does_not_matter(name: str) -> None:
    data, method = tasks(), make(name)
    method.load(method.shared(), learn_all(method, data))
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    plain = method.predict(QueryGraph(data[1].h, data[1].deg), 1)
    moved = method.predict(QueryGraph(data[1].h[order], data[1].deg[order]), 1)
    assert all(torch.equal(plain.labels[s][order], moved.labels[s]) for s in plain.labels)


def test_a_class_with_one_node_and_a_task_with_one_class(name: str) -> None:
    method = make(name)
    states = learn_all(method, tasks(one_node=True))
    assert all(np.isfinite(a).all() for s in states for a in s.values())
    method.load(method.shared(), states)
    assert (method.predict(QueryGraph(tasks()[2].h, torch.ones(20)), 2).labels["task_only"] == 4).all()


def test_resuming_equals_going_through(name: str) -> None:
    data = tasks()
    whole = learn_all(make(name), data)
    first = make(name)
    if not all(first.trains(k) for k in range(3)) or first.facts.sees == "all":
        pytest.skip("starts anew at every stage: nothing to resume inside")
    states, training = [], {}
    for k in range(2):
        first.learn((data[k],))
        states.append(first.state())
        training = first.training_state()
    resumed = make(name)
    resumed.load(first.shared(), states, training)
    resumed.learn((data[2],))
    assert equal(resumed.state(), whole[2])


def test_independent_methods_do_not_care_for_order(name: str) -> None:
    data, method = tasks(), make(name)
    if not method.independent or method.facts.sees == "all":
        pytest.skip("not declared independent")
    whole = learn_all(make(name), data)
    for k in (2, 0, 1):
        method.learn((data[k],))
        assert equal(method.state(), whole[k])


def test_methods_learn(name: str) -> None:
    """On separable classes, the last task's training nodes are classified right within their task."""
    data = tasks()
    method = make(name, train=TrainParams(epochs=150, lr=0.02, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=1))
    method.load(method.shared(), learn_all(method, data))
    predicted = method.predict(QueryGraph(data[1].h, data[1].deg), 1).labels["task_only"]
    chance_broken = (predicted == data[1].y).float().mean()
    assert chance_broken > 0.9 or method.facts.family == "lower reference"


def test_stored_counts_are_whole_and_positive(name: str) -> None:
    stored = make(name).stored(np.array([12, 8, 12, 8, 20]))
    assert min(stored.parameters, stored.rows, stored.uncounted) >= 0
    assert isinstance(stored.parameters, int)
