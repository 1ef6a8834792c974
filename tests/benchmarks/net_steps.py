"""One training step of every method that trains a net, at the shapes of tasks of real graphs; 1.00
is the step as the equations read: dense products and Adam one operation after another. One thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import training
from timing import best
from torch.nn import functional
from torch.optim.adam import adam

from taamctl.core import registry, subnormals
from taamctl.core.types import StreamInfo, Task, TaskData
from taamctl.models.backbones import HIDDEN
from taamctl.params import binding, params_file
from taamctl.params.train_params import TrainParams

REPLAY = ("ergnn", "gem", "ssm", "pdgnns", "delome")
METHODS = ("finetune", "lwf", "mas", "ewc", "twp", *REPLAY, "joint", "oracle")
FEW, MANY = 5, 25  # the seconds of a step: those of a long stage less those of a short one
QUICK = {"delome": {"iterations": 1}}  # condensing is no training step of the net


def steps(shape: str) -> dict[str, float]:
    """Return CPU seconds of a step of the second task, by method, and of the plain step."""
    nodes, features, _, density, edges = training.SHAPES[shape]
    torch.set_num_threads(1)
    tasks = [_task(k, nodes, features, density, edges) for k in range(2)]
    out = best({"plain": _plain(tasks[1])}, 10, time.process_time)
    for name in METHODS:
        seconds = [_stage(name, tasks, epochs) for epochs in (FEW, MANY)]
        out[name] = max(0.0, (seconds[1] - seconds[0]) / (MANY - FEW))
    return out


def _task(index: int, nodes: int, features: int, density: float, edges: int) -> TaskData:
    """Return random rows of two classes, with a random graph over them."""
    rng = np.random.default_rng(index)
    h = rng.random((nodes, features), dtype=np.float32)
    if density < 1:
        h *= rng.random((nodes, features)) < density
    y = np.arange(nodes) % 2 + 2 * index
    ends = np.stack([rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)])
    loops = np.tile(np.arange(nodes), (2, 1))
    pairs = np.unique(np.concatenate([ends, ends[::-1], loops], axis=1), axis=1)
    x = sp.csr_matrix(h)
    extras = {
        "x_indptr": x.indptr,
        "x_indices": x.indices,
        "x_data": x.data,
        "indptr": np.searchsorted(pairs[0], np.arange(nodes + 1)),
        "indices": pairs[1].astype(np.int32),
    }
    task = Task(index, 2 * index, 2 * index + 2)
    degrees = torch.from_numpy(np.diff(extras["indptr"]).astype(np.float32))
    return TaskData(task, torch.from_numpy(h), torch.from_numpy(y), degrees, extras)


def _stage(name: str, tasks: list[TaskData], epochs: int) -> float:
    """Return CPU seconds of the second stage."""
    module = registry.load("taamctl.methods", name)
    usual: dict[str, Any] = params_file.read(params_file.PACKAGED)
    train = binding.bind(
        TrainParams, {**usual["train"], "epochs": epochs, "device": "cpu"}, "train", []
    )
    values = {**usual["methods"][name], **QUICK.get(name, {})}
    own = None if module.Params is None else binding.bind(module.Params, values, name, [])
    info = StreamInfo(tasks[0].h.shape[1], ((0, 2), (2, 4)), 2)
    method = module.Method(own, info, train, 1, torch.device("cpu"))
    with subnormals.flushed():
        if method.facts.sees == "current":
            method.learn(tasks[:1])
        began = time.process_time()
        method.learn(tasks if method.facts.sees == "all" else tasks[1:])
        return time.process_time() - began


def _plain(data: TaskData) -> Callable[[], None]:
    """Return a step of a two-layer net by dense products and Adam's single operations."""
    g = torch.Generator().manual_seed(0)
    shapes = ((HIDDEN, data.h.shape[1]), (4, HIDDEN))
    weights = [(torch.randn(s, generator=g) / 16).requires_grad_() for s in shapes]
    moments = [[torch.zeros_like(w) for w in weights] for _ in range(2)]
    counts = [torch.tensor(0.0) for _ in weights]

    def step() -> None:
        for w in weights:
            w.grad = None
        logits = functional.linear(functional.relu(data.h @ weights[0].T), weights[1])
        functional.cross_entropy(logits, data.y).backward()
        with torch.no_grad():
            gradients = [w.grad for w in weights if w.grad is not None]
            adam(
                weights,
                gradients,
                *moments,
                [],
                counts,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=0.005,
                weight_decay=5e-4,
                eps=1e-8,
                maximize=False,
            )

    return step
