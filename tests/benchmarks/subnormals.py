"""What subnormal numbers cost this processor: kernels on such numbers alone, and methods on a
stream that makes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
import yaml

from taamctl.core import registry, subnormals
from taamctl.core.types import StreamInfo, Task, TaskData
from taamctl.learning.contract import replay_buffer
from taamctl.learning.contract.learn_stages import learn_stage
from taamctl.learning.contract.method import State
from taamctl.learning.kernels.adam import Adam
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED
from taamctl.params.train_params import TrainParams

METHODS = ("finetune", "lwf", "mas", "ewc", "gem", "taam")  # those that need features alone
TASKS, NODES, FEATURES, EPOCHS = 12, 200, 128, 100
SIZE = 1 << 22
Seconds = dict[str, float]


def kernels(rounds: int = 5) -> dict[str, Seconds]:
    """Return CPU seconds of a product, a softmax and an Adam step on subnormal numbers: kept,
    and flushed.
    """
    small, logits = torch.full((SIZE,), 1e-20), torch.zeros(SIZE // 64, 64)
    logits[:, 1:] = -95.0  # exp(-95) = 5e-42
    weight = torch.zeros(SIZE, requires_grad=True)
    weight.grad = torch.full((SIZE,), 1e-22)
    optimiser = Adam([weight], 1e-3)
    work: dict[str, Callable[[], object]] = {
        "product": lambda: small * small,
        "softmax": lambda: torch.softmax(logits, 1),
        "Adam": optimiser.step,
    }
    return {name: _both(lambda run=run: _best(run, rounds)) for name, run in work.items()}


def methods() -> dict[str, Seconds]:
    """Return CPU seconds of a stream of twelve tasks for every method: subnormal numbers kept,
    and flushed.
    """
    return {name: _both(lambda name=name: _stream(name)) for name in METHODS}


def _both(measure: Callable[[], float]) -> Seconds:
    kept = measure()
    with subnormals.flushed():
        return {"flushed": measure(), "kept": kept}


def _best(run: Callable[[], object], rounds: int) -> float:
    seconds = []
    for _ in range(rounds):
        began = time.process_time()
        run()
        seconds.append(time.process_time() - began)
    return min(seconds)


def _task(index: int) -> TaskData:
    """Return a task whose two classes are easy to tell from each other and from all others, as
    classes of real streams become.
    """
    rng = np.random.default_rng(index)
    y = np.arange(NODES) % 2 + 2 * index
    means = np.random.default_rng(1000).random((2 * TASKS, FEATURES)) * 2
    h = (means[y] + 0.05 * rng.standard_normal((NODES, FEATURES))).astype(np.float32)
    return TaskData(
        Task(index, 2 * index, 2 * index + 2),
        torch.from_numpy(h),
        torch.from_numpy(y),
        torch.ones(NODES),
    )


def _stream(name: str) -> float:
    module = registry.load("taamctl.methods", name)
    usual = yaml.safe_load(PACKAGED.read_text())
    train = bind(TrainParams, {**usual["train"], "epochs": EPOCHS, "device": "cpu"}, "train", [])
    own = None if module.Params is None else bind(module.Params, usual["methods"][name], name, [])
    info = StreamInfo(FEATURES, tuple((2 * k, 2 * k + 2) for k in range(TASKS)), 2)
    states: list[State] = []
    training: State = {}
    rows, began = 0, time.process_time()
    for stage in range(TASKS):
        learner = module.Method(own, info, train, 1, torch.device("cpu"))
        state, training, _ = learn_stage(
            learner, _task, np.full(2 * TASKS, NODES // 2), stage, (states, training), rows
        )
        rows += replay_buffer.rows_of(state)
        states.append(state)
    return time.process_time() - began
