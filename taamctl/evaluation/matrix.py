"""The accuracy matrix and what is read off it.

Pure functions; fractions, never per cent; NaN where there is nothing.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from taamctl.core.types import Array


class ByStage(Protocol):
    """[T, N] integer predictions of which a stage may be read when it is asked for; an array is
    one.
    """

    def __getitem__(self, stage: int, /) -> Array:
        """Return the predictions of a stage, [N]; -1 is the last."""


def class_recall(y: Array, predicted: Array, num_classes: int) -> Array:
    """Return every class's recall, [C] float64; NaN for a class without a node."""
    total = np.bincount(y, minlength=num_classes).astype(np.float64)
    right = np.bincount(y[predicted == y], minlength=num_classes)
    return np.asarray(np.divide(right, total, out=np.full(num_classes, np.nan), where=total > 0))


def accuracy_matrix(
    y: Array, task: Array, predicted: ByStage, bounds: Array, averaging: str
) -> Array:
    """Return M[t, j], the accuracy on task j after stage t; NaN where j > t, where a stage has no
    model, or a task no node.

    Args:
        y, task: [N] int64 true class and task of every row.
        predicted: [T, N] integer; -1 where there is no prediction (it counts as wrong only where
            the stage has a model).
        bounds: [T, 2] class range of every task.
        averaging: `balanced` (mean recall over the task's classes that have nodes) or `micro`.
    """
    t = len(bounds)
    out = np.full((t, t), np.nan)
    for stage in range(t):
        answers = predicted[stage]
        if len(answers) and (answers < 0).all():
            continue
        recall = class_recall(y, answers, int(bounds[-1][1]))
        for j in range(stage + 1):
            rows = task == j
            if not rows.any():
                continue
            own = recall[bounds[j][0] : bounds[j][1]]
            out[stage, j] = (
                np.nanmean(own) if averaging == "balanced" else (answers[rows] == y[rows]).mean()
            )
    return out


def average_over_tasks(
    y: Array, task: Array, predicted: Array, bounds: Array
) -> tuple[float, float]:
    """Return AA of one set of predictions, balanced and micro: the mean over tasks that have nodes.

    Args:
        y, task, predicted: [N] integers. bounds: [T, 2].
    """
    last = [
        accuracy_matrix(y, task, np.repeat(predicted[None], len(bounds), 0), bounds, how)[-1]
        for how in ("balanced", "micro")
    ]
    return _mean(last[0]), _mean(last[1])


def average_accuracy(matrix: Array) -> float:
    """Return AA, the mean of the last row over tasks that have nodes."""
    return _mean(matrix[-1])


def accuracy_curve(matrix: Array) -> Array:
    """Return AA after every stage, [T]."""
    return np.array([_mean(row[: t + 1]) for t, row in enumerate(matrix)])


def backward_transfer(matrix: Array) -> float:
    """Return BWT = mean over j < T-1 of M[T-1, j] - M[j, j]; negative when a method forgets, NaN
    where a stage has no model.
    """
    if len(matrix) < 2:
        return float("nan")
    change = matrix[-1, :-1] - np.diag(matrix)[:-1]
    seen = ~np.isnan(matrix[-1, :-1])
    return float(change[seen].mean()) if seen.any() else float("nan")


def average_forgetting(matrix: Array) -> float:
    """Return AF = -BWT, as tables print it."""
    return 0.0 - backward_transfer(matrix)


def task_id_accuracy(choice: Array) -> Array:
    """Return the share of right task-ID decisions at every stage, [T]: one decision per task seen.

    Args:
        choice: [T, T] chosen task, -1 where there was no decision.
    """
    made = choice >= 0
    right = (choice == np.arange(len(choice))) & made
    counts = made.sum(axis=1)
    return np.asarray(
        np.divide(right.sum(axis=1), counts, out=np.full(len(choice), np.nan), where=counts > 0)
    )


def _mean(values: Array) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")
