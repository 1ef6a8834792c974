"""How cost grows as nodes, edges, features or tasks do and everything else stays.

exponent: b of seconds = a size^b. growth: c of seconds = fixed + b size^c, because parts of the
work do not grow at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from timing import best, exponent, growth

from taamctl.core.types import QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.routing.queries import predict_stream
from taamctl.methods import taam
from taamctl.params.train_params import TrainParams

CPU = torch.device("cpu")
TRAIN = TrainParams(
    epochs=4, lr=0.005, weight_decay=0.0005, balance=True, node_batch=0, device="cpu", threads=1
)
TAAM = taam.Params("release", 6, 2, 4, True, True, "float32")


def _stages(nodes: int, edges: int, features: int) -> dict[str, float]:
    """Return CPU seconds of every stage over a synthetic graph of this size, as the stages
    record them (imports left out).
    """
    patch = (
        f"from taamctl.datasets import synthetic; synthetic.SIZES['tiny'] = ({nodes}, {edges}, "
        f"{features}, 20); from taamctl.cli.app import entry; entry()"
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable,
                "-c",
                patch,
                "run",
                "--dataset",
                "synthetic",
                "--method",
                "taam",
                "--seed",
                "1",
                "--outputs",
                folder,
                "--set",
                "train.epochs=10",
                "--set",
                "report.pictures=false",
            ],
            check=True,
            capture_output=True,
        )
        records = [json.loads(p.read_text()) for p in Path(folder).rglob("*.provenance.json")]
    return {r["stage"]: float(r["cost"]["cpu_s"]) for r in records}


def _pipeline(
    sizes: Sequence[int], make: Callable[[int], tuple[int, int, int]]
) -> dict[str, list[float]]:
    """Return per size the seconds of split, of precompute, and of both with training and
    inference; the best of two runs.
    """
    rows = [[_stages(*make(size)) for _ in range(2)] for size in sizes]
    each = {
        stage: [min(run[stage] for run in runs) for runs in rows]
        for stage in ("split", "precompute", "train", "infer")
    }
    return {
        "split": each["split"],
        "precompute": each["precompute"],
        "all stages": np.sum(list(each.values()), axis=0).tolist(),
    }


def _stream(nodes: int, features: int, tasks: int) -> Callable[[], object]:
    """Train all tasks and predict every seen task's query graph at every stage."""
    g = torch.Generator().manual_seed(0)
    info = StreamInfo(features, tuple((2 * k, 2 * k + 2) for k in range(tasks)))
    each = nodes // tasks
    data = [
        TaskData(
            Task(k, 2 * k, 2 * k + 2),
            torch.rand(each, features, generator=g),
            torch.arange(each) % 2 + 2 * k,
            torch.ones(each),
        )
        for k in range(tasks)
    ]
    queries = [
        QueryGraph(torch.rand(each // 3, features, generator=g), torch.ones(each // 3))
        for _ in range(tasks)
    ]

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
    """Return per law the sizes, the CPU seconds, the exponent, the growth and the seconds that
    do not grow.
    """
    torch.set_num_threads(1)
    out: dict[str, dict[str, object]] = {}
    for law, sizes, make in (
        ("N at fixed degree", (150_000, 300_000, 600_000, 1_200_000), lambda n: (n, 10 * n, 64)),
        (
            "E at fixed N",
            (4_000_000, 8_000_000, 16_000_000, 32_000_000),
            lambda e: (300_000, e, 64),
        ),
        ("F", (64, 128, 256, 512), lambda f: (150_000, 1_500_000, f)),
    ):
        for stage, seconds in _pipeline(sizes, make).items():
            out[f"{stage}, {law}"] = _fitted(sizes, seconds)
    laws: dict[str, tuple[tuple[int, ...], Callable[[int], Callable[[], object]]]] = {
        "training and prediction, N": (
            (16_000, 32_000, 64_000, 128_000),
            lambda n: _stream(n, 256, 4),
        ),
        "training and prediction, F": ((128, 256, 512, 1024), lambda f: _stream(16_000, f, 4)),
        "training and prediction, T at fixed N": (
            (4, 8, 16, 32),
            lambda t: _stream(64_000, 128, t),
        ),
        "training and prediction, T and N together": (
            (4, 8, 16, 32),
            lambda t: _stream(4_000 * t, 128, t),
        ),
    }
    for name, (sizes, build) in laws.items():
        out[name] = _fitted(
            sizes, [best({"run": build(size)}, 3, time.process_time)["run"] for size in sizes]
        )
    return out


def _fitted(sizes: Sequence[int], seconds: Sequence[float]) -> dict[str, object]:
    grows, fixed = growth(sizes, seconds)
    return {
        "sizes": list(sizes),
        "seconds": [round(s, 3) for s in seconds],
        "exponent": round(exponent(sizes, seconds), 2),
        "growth": round(grows, 2),
        "fixed": round(fixed, 2),
    }
