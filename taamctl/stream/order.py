"""Form tasks from classes: drop what is too small, order the rest, group them, treat the leftover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, Task, TaskStream
from taamctl.stream.params import SplitParams


@dataclass(frozen=True)
class Dropped:
    """A class that is not in the stream, and why."""

    label: int
    name: str
    nodes: int
    reason: str


def build_stream(labels: Array, class_names: tuple[str, ...], params: SplitParams) -> tuple[TaskStream, tuple[Dropped, ...]]:
    """Return the task stream and the classes left out of it.

    Args:
        labels: [N] int64, -1 for unlabelled.
        class_names: C names, in label order.

    Raises:
        TaamctlError: a class is below `min_class_size` and the policy is `refuse`, or nothing is left.
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(class_names))
    small = [c for c in range(len(class_names)) if counts[c] < params.min_class_size]
    if small and params.small_class == "refuse":
        names = ", ".join(f"{class_names[c]} ({counts[c]})" for c in small)
        raise TaamctlError(f"classes with fewer than {params.min_class_size} nodes: {names}",
                           "set split.small_class to drop, or lower split.min_class_size")
    left = [c for c in range(len(class_names)) if counts[c] >= params.min_class_size]
    if params.class_order == "seeded_permutation":
        left = [left[i] for i in np.random.RandomState(params.order_seed).permutation(len(left))]
    kept, bounds = _group(left, params)
    dropped = [Dropped(c, class_names[c], int(counts[c]), f"fewer than {params.min_class_size} nodes") for c in small]
    dropped += [Dropped(c, class_names[c], int(counts[c]), "leftover class (odd_class: drop)") for c in left[len(kept):]]
    if not kept:
        raise TaamctlError(f"no task can be formed: {len(left)} usable classes at {params.classes_per_task} per task",
                           "lower split.classes_per_task or set split.odd_class to singleton_task")
    tasks = tuple(Task(i, low, high) for i, (low, high) in enumerate(bounds))
    return TaskStream(tasks, tuple(kept), tuple(class_names[c] for c in kept)), tuple(dropped)


def _group(classes: list[int], params: SplitParams) -> tuple[list[int], list[tuple[int, int]]]:
    size = params.classes_per_task
    whole = len(classes) // size * size
    bounds = [(low, low + size) for low in range(0, whole, size)]
    if whole == len(classes) or params.odd_class == "drop":
        return classes[:whole], bounds
    if params.odd_class == "singleton_task" or not bounds:
        return classes, [*bounds, (whole, len(classes))]
    return classes, [*bounds[:-1], (bounds[-1][0], len(classes))]
