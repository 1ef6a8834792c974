"""Take a method through a task stream, checkpoint after every task, and go on where an interrupted run stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.types import Array, TaskData
from taamctl.learning.method import Method, State


class Checkpoints(Protocol):
    """Where finished tasks of an unfinished run are kept."""

    def load(self, stage: int) -> tuple[State, State, Array] | None:
        """Return (state, training state, losses) of a finished stage, or None."""

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        """Keep a finished stage, whole or not at all."""


def train_stream(method: Method, load_task: Callable[[int], TaskData], checkpoints: Checkpoints, progress: Progress) -> int:
    """Train every stage that is not yet in `checkpoints`; return how many were already there.

    Args:
        load_task: returns the training part of a task.
    """
    stages = [t for t in range(method.info.num_tasks) if method.trains(t)]
    done = [t for t in stages if checkpoints.load(t) is not None]
    progress.start("train", method.train.epochs * len(stages))
    states: list[State] = []
    behind = False  # the method's own state is behind `states`: load before learning
    for stage in stages:
        saved = checkpoints.load(stage)
        if saved is not None:
            states.append(saved[0])
            behind = True
            progress.advance(method.train.epochs)
            progress.line(f"task {stage + 1}/{method.info.num_tasks}: taken from the checkpoint of an interrupted run")
            continue
        if behind and not method.independent:
            before = checkpoints.load(stages[stages.index(stage) - 1])
            method.load(method.shared(), states, before[1] if before else None)
        behind = False
        began = time.perf_counter()
        wanted = range(stage + 1) if method.facts.sees == "all" else [stage]
        losses = method.learn(tuple(load_task(k) for k in wanted), progress)
        _refuse_divergence(losses, stage)
        state = method.state()
        checkpoints.save(stage, state, method.training_state(), losses)
        if not method.independent:
            states.append(state)
        progress.line(f"task {stage + 1}/{method.info.num_tasks}: loss {np.asarray(losses)[-1]:.4f}, "
                      f"{time.perf_counter() - began:.1f} s")
    progress.finish()
    return len(done)


def _refuse_divergence(losses: Array, stage: int) -> None:
    """Raise where training left the finite numbers: everything after it would be noise in the shape of a result."""
    wrong = np.flatnonzero(~np.isfinite(losses))
    if len(wrong):
        raise TaamctlError(f"training diverged: the loss of task {stage + 1} is {losses[wrong[0]]} in epoch {int(wrong[0]) + 1}",
                           "lower train.lr, or look for extreme values in the features")
