"""The device path: what runs on a CUDA device gives what the CPU gives, to rounding.

Without one, the CPU stands in for it.
"""

from __future__ import annotations

import ctypes
import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from taamctl.core import registry
from taamctl.core.types import QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.contract import device as devices
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.train_params import TrainParams
from taamctl.propagation import group_graph

DEVICES = [
    torch.device("cpu"),
    pytest.param(
        torch.device("cuda"),
        marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
    ),
]
INFO = StreamInfo(24, ((0, 2), (2, 4)))
TRAIN = TrainParams(
    epochs=15, lr=0.005, weight_decay=0.0005, balance=True, node_batch=0, device="auto", threads=2
)


SHORT = {
    "iterations": 10,
    "encoders": 10,
    "width": 64,
    "net_width": 32,
    "epochs": 15,
    "pretrain_epochs": 5,
}  # where a method has them


def _tasks() -> list[TaskData]:
    """Return two tasks, each over a graph of three random edges a node, with H = S^2 X."""
    rng = torch.Generator().manual_seed(0)
    edges = np.random.default_rng(0)
    y = torch.arange(60) % 2
    made = []
    for k in range(2):
        x = torch.rand(60, 24, generator=rng) + torch.eye(24)[2 * k + y]
        linked = np.eye(60) + (edges.random((60, 60)) < 0.05)
        graph = sp.csr_matrix(((linked + linked.T) > 0).astype(np.float32))
        h = group_graph.propagate_rows(graph, x, 2)
        degree = torch.from_numpy(np.diff(graph.indptr).astype(np.float32))
        extras = {
            "x_indptr": np.arange(0, 60 * 24 + 1, 24),
            "x_indices": np.tile(np.arange(24, dtype=np.int32), 60),
            "x_data": x.numpy().ravel(),
            "indptr": graph.indptr.astype(np.int64),
            "indices": graph.indices,
        }
        made.append(TaskData(Task(k, 2 * k, 2 * k + 2), h, y + 2 * k, degree, extras))
    return made


def _learn(
    name: str, device: torch.device, train: TrainParams
) -> tuple[list[dict[str, np.ndarray]], dict[str, torch.Tensor]]:
    module = registry.load("taamctl.methods", name)
    values = read(PACKAGED)["methods"][name]
    own = (
        None
        if module.Params is None
        else bind(
            module.Params, {**values, **{k: v for k, v in SHORT.items() if k in values}}, name, []
        )
    )
    devices.pin(device, train.threads)
    method, tasks, states = module.Method(own, INFO, train, 1, device), _tasks(), []
    for k in range(2):
        if method.trains(k):
            method.learn(tuple(tasks[: k + 1]) if method.facts.sees == "all" else (tasks[k],))
        states.append(method.state() if method.trains(k) else {})
    method.load(method.shared(), states)
    return states, dict(
        method.predict(QueryGraph(tasks[1].h, tasks[1].deg, tasks[1].extras), 1).labels
    )


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("name", registry.builtin("taamctl.methods"))
@pytest.mark.parametrize("batch", [0, 16])
def test_a_device_agrees_with_the_cpu_and_with_itself(
    name: str, device: torch.device, batch: int
) -> None:
    train = dataclasses.replace(TRAIN, node_batch=batch)
    reference, _ = _learn(name, torch.device("cpu"), train)
    states, labels = _learn(name, device, train)
    again, labels_again = _learn(name, device, train)
    for a, b, c in zip(states, again, reference, strict=True):
        assert a.keys() == c.keys()
        for key in a:
            assert isinstance(a[key], np.ndarray)
            assert np.array_equal(a[key], b[key]), f"{key} is not deterministic on {device}"
            assert np.allclose(a[key], c[key], atol=2e-3), key
    assert all(torch.equal(labels[s].cpu(), labels_again[s].cpu()) for s in labels)


def test_the_device_that_auto_means_is_the_one_that_torch_sees() -> None:
    assert devices.kind("auto") == devices.resolve("auto").type
    assert devices.kind("cpu") == "cpu"


@pytest.mark.parametrize(
    ("build", "driver", "certain"),
    [
        ({"cuda": None, "hip": None}, True, True),
        ({"cuda": "12.8", "hip": None}, False, True),
        ({"cuda": "12.8", "hip": None}, True, False),
        ({"cuda": None, "hip": "6.2"}, False, False),
        ({}, False, False),
    ],
)
def test_torch_is_asked_for_a_gpu_where_there_may_be_one(
    monkeypatch: pytest.MonkeyPatch, build: dict[str, object], driver: bool, certain: bool
) -> None:
    def load(name: str) -> str:
        if not driver:
            raise OSError(name)
        return name

    asked = []

    def resolve(name: str) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(type="cuda")

    # as in a process that has no torch yet
    monkeypatch.setattr(devices, "sys", SimpleNamespace(modules={}, platform="linux"))
    monkeypatch.setattr(devices, "_build", lambda: build)
    monkeypatch.setattr(devices, "resolve", resolve)
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert devices.kind("auto") == ("cpu" if certain else "cuda")
    assert asked == ["auto"] * (not certain)


def test_what_torch_was_built_for_is_read_without_it() -> None:
    assert devices._build()["cuda"] == torch.version.cuda
    assert devices._build().get("hip") == torch.version.hip
