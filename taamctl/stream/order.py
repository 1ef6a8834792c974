"""Form tasks from classes: drop what is too small, order the rest, group them, treat the
leftover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, Given, Task, TaskStream
from taamctl.params.split_params import SplitParams

NOTHING_GIVEN = Given()


@dataclass(frozen=True)
class Dropped:
    """A class that is not in the stream, and why."""

    label: int
    name: str
    nodes: int
    reason: str


def build_stream(
    labels: Array, class_names: tuple[str, ...], params: SplitParams, given: Given = NOTHING_GIVEN
) -> tuple[TaskStream, tuple[Dropped, ...]]:
    """Return the task stream and the classes left out of it.

    Where the graph states its own tasks and `tasks` is `as_given`, they are taken as they are: an
    order moves whole tasks, none has a leftover, and one that loses all its classes is no task.

    Args:
        labels: [N] int64, -1 for unlabelled.
        class_names: C names, in label order.
        given: what the graph itself states.

    Raises:
        TaamctlError: a class is below `min_class_size` and the policy is `refuse`, or nothing is
            left, or an order by time without times.
    """
    counts = np.bincount(labels[labels >= 0], minlength=len(class_names))
    small = np.flatnonzero(counts < params.min_class_size).tolist()
    if params.small_class == "refuse":
        _refuse_small(small, counts, class_names, params)
    usable = np.flatnonzero(counts >= params.min_class_size).tolist()
    if params.tasks == "as_given" and given.arrival is not None:
        arrival = given.arrival
        units = [[c for c in usable if arrival[c] == t] for t in np.unique(arrival[usable])]
        tasks = _ordered(units, labels, class_names, params, given)
        ordered = list(chain.from_iterable(tasks))
    else:
        units = _ordered([[c] for c in usable], labels, class_names, params, given)
        ordered = list(chain.from_iterable(units))
        tasks = _grouped(ordered, params)
    kept = list(chain.from_iterable(tasks))
    if not kept:
        raise TaamctlError(
            f"no task can be formed: {len(usable)} usable classes at {params.classes_per_task} per "
            "task",
            "bring more classes, or lower split.classes_per_task; with one class per task AA is "
            "nothing but task-ID accuracy",
        )
    reasons = dict.fromkeys(small, f"fewer than {params.min_class_size} nodes")
    reasons |= dict.fromkeys(ordered[len(kept) :], "leftover class (odd_class: drop)")
    names = tuple(class_names[c] for c in kept)
    stream = TaskStream(_tasks_of([len(task) for task in tasks]), tuple(kept), names)
    dropped = (Dropped(c, class_names[c], int(counts[c]), why) for c, why in reasons.items())
    return stream, tuple(dropped)


def _tasks_of(sizes: list[int]) -> tuple[Task, ...]:
    """Return tasks of so many classes each, one after the other."""
    bounds = pairwise(accumulate(sizes, initial=0))
    return tuple(Task(i, low, high) for i, (low, high) in enumerate(bounds))


def _refuse_small(
    small: list[int], counts: Array, class_names: tuple[str, ...], params: SplitParams
) -> None:
    if not small:
        return
    names = ", ".join(f"{class_names[c]} ({counts[c]})" for c in small)
    raise TaamctlError(
        f"classes with fewer than {params.min_class_size} nodes: {names}",
        "set split.small_class to drop, or lower split.min_class_size",
    )


def _ordered(
    units: list[list[int]],
    labels: Array,
    class_names: Sequence[str],
    params: SplitParams,
    given: Given,
) -> list[list[int]]:
    """Return single classes, or whole tasks, in the class order of the parameters."""
    if params.class_order == "seeded_permutation":
        return [units[i] for i in np.random.RandomState(params.order_seed).permutation(len(units))]
    if params.class_order == "natural":
        return units
    first = _first_times(labels, len(class_names), given)
    unknown = [class_names[c] for unit in units for c in unit if np.isnan(first[c])]
    if unknown:
        raise TaamctlError(
            f"split.class_order is time, but no node of these classes has one: "
            f"{', '.join(unknown)}",
            "set split.class_order to natural, or give these nodes a time",
        )
    return sorted(units, key=lambda unit: (min(first[unit]), unit[0]))


def _first_times(labels: Array, classes: int, given: Given) -> Array:
    """Return [C] float64, when the first node of every class appeared; NaN where none has a time.

    Raises:
        TaamctlError: the graph has no times.
    """
    if given.time is None:
        raise TaamctlError(
            "split.class_order is time, but this graph has no times",
            "set split.class_order to natural, or import the graph with a time for every node",
        )
    first = np.full(classes, np.nan)
    labelled = labels >= 0
    np.fmin.at(first, labels[labelled], given.time[labelled])  # passes over NaN
    return first


def _grouped(classes: list[int], params: SplitParams) -> list[list[int]]:
    size = params.classes_per_task
    whole = len(classes) // size * size
    tasks = [classes[low : low + size] for low in range(0, whole, size)]
    leftover = classes[whole:]
    if not leftover or params.odd_class == "drop":
        return tasks
    if params.odd_class == "singleton_task" or not tasks:
        return [*tasks, leftover]
    return [*tasks[:-1], tasks[-1] + leftover]
