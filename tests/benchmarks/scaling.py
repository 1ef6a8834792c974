"""How cost grows: the exponent b of seconds = a size^b as nodes, edges, features or tasks grow and everything else stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from kernels import random_operator
from timing import best, exponent

from taamctl.core.types import QueryGraph, StreamInfo, Task, TaskData
from taamctl.features import sgc
from taamctl.learning.params import TrainParams
from taamctl.learning.predict import predict_stream
from taamctl.methods import taam

CPU = torch.device("cpu")
TRAIN = TrainParams(epochs=4, lr=0.005, weight_decay=0.0005, balance=True, node_batch=0, device="cpu", threads=1)
TAAM = taam.Params("release", 6, 2, 4, True, True, "float32")


def _propagate(nodes: int, edges: int, features: int) -> Callable[[], object]:
    operator = random_operator(nodes, edges)
    x = np.random.default_rng(0).random((nodes, features), dtype=np.float32)
    return lambda: sgc.propagate(operator, x, 2, "torch")


def _stream(nodes: int, features: int, tasks: int) -> Callable[[], object]:
    """Train all tasks and predict every seen task's query graph at every stage."""
    g = torch.Generator().manual_seed(0)
    info = StreamInfo(features, tuple((2 * k, 2 * k + 2) for k in range(tasks)))
    each = nodes // tasks
    data = [TaskData(Task(k, 2 * k, 2 * k + 2), torch.rand(each, features, generator=g), torch.arange(each) % 2 + 2 * k, torch.ones(each))
            for k in range(tasks)]
    queries = [QueryGraph(torch.rand(each // 3, features, generator=g), torch.ones(each // 3)) for _ in range(tasks)]

    def run() -> None:
        states = []
        for task in data:
            method = taam.Method(TAAM, info, TRAIN, 1, CPU)
            method.learn([task])
            states.append(method.state())
        learner = taam.Method(TAAM, info, replace(TRAIN, epochs=1), 1, CPU)
        predict_stream(learner, states, queries, np.tril(np.tile(np.arange(tasks), (tasks, 1))))

    return run


def scaling() -> dict[str, dict[str, object]]:
    """Return per law the sizes, the CPU seconds, and the exponent."""
    torch.set_num_threads(1)
    laws: dict[str, tuple[tuple[int, ...], Callable[[int], Callable[[], object]]]] = {
        "propagation, E": ((2_000_000, 4_000_000, 8_000_000), lambda e: _propagate(200_000, e, 64)),
        "propagation, N at fixed degree": ((200_000, 400_000, 800_000), lambda n: _propagate(n, 10 * n, 64)),
        "propagation, F": ((64, 128, 256), lambda f: _propagate(200_000, 2_000_000, f)),
        "training and prediction, N": ((16_000, 32_000, 64_000, 128_000), lambda n: _stream(n, 256, 4)),
        "training and prediction, F": ((128, 256, 512, 1024), lambda f: _stream(16_000, f, 4)),
        "training and prediction, T tasks of 2,000 nodes": ((4, 8, 16, 32), lambda t: _stream(2_000 * t, 128, t)),
        "training and prediction, T tasks of 64,000 nodes in all": ((4, 8, 16, 32), lambda t: _stream(64_000, 128, t)),
    }
    out: dict[str, dict[str, object]] = {}
    for name, (sizes, make) in laws.items():
        seconds = [best({"run": make(size)}, 3, time.process_time)["run"] for size in sizes]
        out[name] = {"sizes": list(sizes), "seconds": [round(s, 3) for s in seconds], "exponent": round(exponent(sizes, seconds), 2)}
    return out
