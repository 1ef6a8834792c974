"""Take a method through a task stream, checkpoint after every task, and go on where an
interrupted run stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Method, State
from taamctl.learning.contract.replay_buffer import enforce, rows_of, seen_sizes


class Checkpoints(Protocol):
    """Where finished tasks of an unfinished run are kept."""

    def load(self, stage: int) -> tuple[State, State, Array] | None:
        """Return (state, training state, losses) of a finished stage, or None."""

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        """Keep a finished stage, whole or not at all."""


def train_stream(
    make: Callable[[], Method],
    load_task: Callable[[int], TaskData],
    class_sizes: Array,
    checkpoints: Checkpoints,
    progress: Progress,
) -> int:
    """Train every stage that is not yet in `checkpoints`; return how many were already there.

    Every stage is learned by a new object that is given what earlier stages returned and nothing
    else: a method cannot keep data but in its states, and those are held to its declared budget,
    whoever learned them.

    Args:
        make: returns a new method.
        load_task: returns the training part of a task.
        class_sizes: [C] training nodes per class.
    """
    first = make()
    info = first.info
    stages = [t for t in range(info.num_tasks) if first.trains(t)]
    progress.start("train", sum(first.steps(t) for t in stages))
    resumed = 0
    rows = 0
    states: list[State] = []
    training: State = {}
    for stage in stages:
        name = f"task {stage + 1}/{info.num_tasks}"
        saved = checkpoints.load(stage)
        if saved is not None:
            state, training, _ = saved
            seen = seen_sizes(class_sizes, info.bounds[stage][1])
            rows = enforce(first, state, training, rows, seen)
            resumed += 1
            progress.skip(first.steps(stage))
            progress.line(f"{name}: taken from the checkpoint of an interrupted run")
        else:
            began = time.perf_counter()
            state, training, losses = learn_stage(
                make(), load_task, class_sizes, stage, (states, training), rows, progress
            )
            rows += rows_of(state)
            checkpoints.save(stage, state, training, losses)
            seconds = time.perf_counter() - began
            progress.line(finished(name, losses, seconds))
        if not first.independent:
            states.append(state)
    progress.finish()
    return resumed


def finished(name: str, losses: Array, seconds: float) -> str:
    """Return what is said of a task that was learned; a closed form has no loss.

    Args:
        losses: [epochs] float32.
    """
    if len(losses) == 1:
        return f"{name}: {seconds:.1f} s"
    return f"{name}: loss {losses[-1]:.4f}, {seconds:.1f} s"


def learn_stage(
    method: Method,
    load_task: Callable[[int], TaskData],
    class_sizes: Array,
    stage: int,
    earlier: tuple[Sequence[State], State],
    rows: int,
    progress: Progress = SILENT,
) -> tuple[State, State, Array]:
    """Learn one stage and return (state, training state, losses [epochs] float32): the same bits
    wherever it runs.

    Args:
        method: a new one.
        earlier: states of the stages before, and the training state of the last; not looked at
            where tasks are independent.
        rows: rows of data that the stages before keep, as far as they are known here.

    Raises:
        TaamctlError: the loss left the finite numbers, or the method keeps more than it declares.
    """
    states, training = earlier
    if states and not method.independent:
        method.load(method.shared(), states, training)
    first = 0 if method.facts.sees == "all" else stage
    losses = method.learn(tuple(load_task(k) for k in range(first, stage + 1)), progress)
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):  # everything after it would be noise in the shape of a result
        raise TaamctlError(
            f"training diverged: the loss of task {stage + 1} is {losses[wrong[0]]} in epoch "
            f"{int(wrong[0]) + 1}",
            "lower train.lr, or look for extreme values in the features",
        )
    state = method.state()
    training = method.training_state()
    enforce(method, state, training, rows, seen_sizes(class_sizes, method.info.bounds[stage][1]))
    return state, training, losses
