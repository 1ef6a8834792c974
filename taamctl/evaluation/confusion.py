"""Which classes, and which tasks, nodes are taken for. Pure functions; counts of nodes."""

from __future__ import annotations

import numpy as np

from taamctl.core.types import Array

Counts = list[list[int]]  # [true, answered, nodes], most nodes first


def confused(y: Array, predicted: Array) -> Counts:
    """Return the pairs of classes that are confused, with the nodes that are, most first. All
    are kept: what is rare under every seed may be much over all.

    Args:
        y: [N] true classes. predicted: [N] classes, -1 where there is no prediction.
    """
    wrong = (predicted >= 0) & (predicted != y)
    return _counted(y[wrong], predicted[wrong])


def tasks_answered(task: Array, predicted: Array, bounds: Array) -> Counts:
    """Return, for every true task, how many of its nodes were given a class of which task.

    Args:
        task: [N] true tasks. predicted: [N] classes, -1 where there is no prediction.
        bounds: [T, 2] class range of every task.
    """
    answered = predicted >= 0
    of_class = np.searchsorted(bounds[:, 1], predicted[answered], side="right")
    return _counted(task[answered], of_class)


def _counted(rows: Array, columns: Array) -> Counts:
    """Return every pair that occurs and how often, most often first, then in order."""
    pairs = np.stack([rows, columns], axis=1).astype(np.int64)
    found, counts = np.unique(pairs, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    table: Counts = np.column_stack([found, counts])[order].astype(int).tolist()
    return table
