"""Form tasks from classes: drop what is too small, order the rest, group them, treat the
leftover.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    small = [c for c in range(len(class_names)) if counts[c] < params.min_class_size]
    if small and params.small_class == "refuse":
        names = ", ".join(f"{class_names[c]} ({counts[c]})" for c in small)
        raise TaamctlError(
            f"classes with fewer than {params.min_class_size} nodes: {names}",
            "set split.small_class to drop, or lower split.min_class_size",
        )
    left = [c for c in range(len(class_names)) if counts[c] >= params.min_class_size]
    groups = _given_tasks(left, params, given)
    whole = groups is not None
    units = _ordered(
        [[c] for c in left] if groups is None else groups, labels, class_names, params, given
    )
    left = [c for unit in units for c in unit]
    kept, bounds = (left, _bounds(units)) if whole else _group(left, params)
    dropped = [
        Dropped(c, class_names[c], int(counts[c]), f"fewer than {params.min_class_size} nodes")
        for c in small
    ]
    dropped += [
        Dropped(c, class_names[c], int(counts[c]), "leftover class (odd_class: drop)")
        for c in left[len(kept) :]
    ]
    if not kept:
        raise TaamctlError(
            f"no task can be formed: {len(left)} usable classes at {params.classes_per_task} per "
            "task",
            "bring more classes, or lower split.classes_per_task; with one class per task AA is "
            "nothing but task-ID accuracy",
        )
    tasks = tuple(Task(i, low, high) for i, (low, high) in enumerate(bounds))
    return TaskStream(tasks, tuple(kept), tuple(class_names[c] for c in kept)), tuple(dropped)


def _given_tasks(classes: list[int], params: SplitParams, given: Given) -> list[list[int]] | None:
    """Return the graph's own tasks in its own order, without those that have no usable class;
    None where tasks are formed by size.
    """
    if params.tasks != "as_given" or given.arrival is None:
        return None
    arrival = given.arrival.tolist()
    return [[c for c in classes if arrival[c] == t] for t in sorted({arrival[c] for c in classes})]


def _ordered(
    units: list[list[int]],
    labels: Array,
    class_names: tuple[str, ...],
    params: SplitParams,
    given: Given,
) -> list[list[int]]:
    """Return single classes, or whole tasks, in the class order of the parameters."""
    if params.class_order == "seeded_permutation":
        return [units[i] for i in np.random.RandomState(params.order_seed).permutation(len(units))]
    if params.class_order == "time":
        first = first_times(labels, class_names, given)
        if unknown := [class_names[c] for unit in units for c in unit if np.isnan(first[c])]:
            raise TaamctlError(
                "split.class_order is time, but no node of these classes has one: "
                f"{', '.join(unknown)}",
                "set split.class_order to natural, or give these nodes a time",
            )
        return sorted(units, key=lambda unit: (min(first[c] for c in unit), unit[0]))
    return units


def first_times(labels: Array, class_names: tuple[str, ...], given: Given) -> Array:
    """Return [C] float64, when the first node of every class appeared; NaN where no node of it has
    a time.

    Raises:
        TaamctlError: the graph has no times.
    """
    if given.time is None:
        raise TaamctlError(
            "split.class_order is time, but this graph has no times",
            "set split.class_order to natural, or import the graph with a time for every node",
        )
    first = np.full(len(class_names), np.inf)
    known = (labels >= 0) & ~np.isnan(given.time)
    np.minimum.at(first, labels[known], given.time[known])
    seen = np.bincount(labels[known], minlength=len(class_names)) > 0
    return np.where(seen, first, np.nan)


def _bounds(units: list[list[int]]) -> list[tuple[int, int]]:
    ends = np.cumsum([len(unit) for unit in units]).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []


def _group(classes: list[int], params: SplitParams) -> tuple[list[int], list[tuple[int, int]]]:
    size = params.classes_per_task
    whole = len(classes) // size * size
    bounds = [(low, low + size) for low in range(0, whole, size)]
    if whole == len(classes) or params.odd_class == "drop":
        return classes[:whole], bounds
    if params.odd_class == "singleton_task" or not bounds:
        return classes, [*bounds, (whole, len(classes))]
    return classes, [*bounds[:-1], (bounds[-1][0], len(classes))]
