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
from taamctl.learning.contract import replay_buffer
from taamctl.learning.contract.method import Method, State


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
    done = [t for t in stages if checkpoints.load(t) is not None]
    progress.start("train", sum(first.steps(t) for t in stages))
    states: list[State] = []
    training: State = {}
    rows = 0
    for stage in stages:
        saved = checkpoints.load(stage)
        if saved is not None:
            state, training = saved[0], saved[1]
            rows = replay_buffer.enforce(
                first,
                state,
                training,
                rows,
                replay_buffer.seen_sizes(class_sizes, info.bounds[stage][1]),
            )
            progress.advance(first.steps(stage))
            progress.line(
                f"task {stage + 1}/{info.num_tasks}: taken from the checkpoint of an interrupted "
                "run"
            )
        else:
            began = time.perf_counter()
            state, training, losses = learn_stage(
                make(), load_task, class_sizes, stage, (states, training), rows, progress
            )
            rows += replay_buffer.rows_of(state)
            checkpoints.save(stage, state, training, losses)
            progress.line(
                f"task {stage + 1}/{info.num_tasks}: loss {np.asarray(losses)[-1]:.4f}, "
                f"{time.perf_counter() - began:.1f} s"
            )
        if not first.independent:
            states.append(state)
    progress.finish()
    return len(done)


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
    wanted = range(stage + 1) if method.facts.sees == "all" else [stage]
    losses = method.learn(tuple(load_task(k) for k in wanted), progress)
    _refuse_divergence(losses, stage)
    state, training = method.state(), method.training_state()
    replay_buffer.enforce(
        method,
        state,
        training,
        rows,
        replay_buffer.seen_sizes(class_sizes, method.info.bounds[stage][1]),
    )
    return state, training, losses


def _refuse_divergence(losses: Array, stage: int) -> None:
    """Raise where training left the finite numbers: everything after it would be noise in the
    shape of a result.
    """
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        raise TaamctlError(
            f"training diverged: the loss of task {stage + 1} is {losses[wrong[0]]} in epoch "
            f"{int(wrong[0]) + 1}",
            "lower train.lr, or look for extreme values in the features",
        )
