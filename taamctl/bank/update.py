"""Add nodes and edges of classes that a bank knows: sums are those of all nodes at once, whatever
came when.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taamctl.bank import store
from taamctl.bank.class_state import ClassState
from taamctl.bank.context import joined, unused
from taamctl.bank.graph_change import Change, Earlier, applied
from taamctl.bank.graph_source import Source
from taamctl.bank.grown import (
    Grown,
    Tell,
    beside,
    group_of,
    recalibrated,
    refitted,
    solved_anew,
    written,
)
from taamctl.bank.node_record import TRAIN, VAL, NodeRecord
from taamctl.bank.sight import Sight, Sights
from taamctl.bank.task_file import TaskState, with_state
from taamctl.bank.task_groups import Group, part_by_name
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array
from taamctl.propagation.room import UNLIMITED, Room

# what gives an earlier graph as the rows of a task saw it, where there is one
AsItWas = Callable[[int], Earlier | None]


@dataclass(frozen=True)
class TaskUpdate:
    """What became of one task.

    Attributes:
        number: of the task. train, val: nodes that are new to it.
        replaced: known nodes whose rows changed with their new neighbours.
        model, thresholds, prototype: whether these are of all nodes that the task knows.
        file: its file now.
    """

    number: int
    train: int
    val: int
    replaced: int
    model: bool
    thresholds: bool
    prototype: bool
    file: str = ""


@dataclass(frozen=True)
class Work:
    """One task on its way to the next generation."""

    told: TaskUpdate
    task: TaskState
    group: Group


@subnormals.flushed()
def update(
    folder: Path,
    source: Source,
    *,
    context: Source | None = None,
    before: Source | None = None,
    wait: bool = True,
    progress: Progress = SILENT,
    tell: Tell = lambda line: None,
    room: Room = UNLIMITED,
) -> list[TaskUpdate]:
    """Add the labelled nodes of a graph that the bank has not seen to the tasks of their classes;
    return what became of every task that changed.

    A node that the bank knows is told by its name, counts no second time, and is a neighbour of
    the new ones. Where it has new neighbours, its row is replaced. A task's own model and
    thresholds are learned again where the graph has all its nodes; else they stay as they were.

    Args:
        context: the graph that the other was imported with: its nodes are looked up too.
        before: the graph as it was learned, where nodes that the bank knows have other features or
            edges now; the tasks of such nodes have to be in both graphs with all their nodes.
        room: how much memory there is; no byte depends on it.

    Raises:
        TaamctlError: the bank keeps no exact sums, or a row to replace is not the one that was
            learned; nothing has changed then.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        if context is not None:
            source = joined(source, context)
        elif note := unused(source.graph.outside):
            tell(f"note: {note}")
        grown = beside(folder, now, source, tell, room)
        if grown.strangers:
            tell(
                f"note: {grown.strangers:,} nodes have a class that the bank does not know: "
                "taamctl bank add-task learns it"
            )
        then = None
        if before is not None:
            then = beside(folder, now, before, tell, room)
        works = _works(grown, then, progress)
        if not works:
            return []
        changed = {k: work.task for k, work in works.items()}
        solved = solved_anew(grown, changed)
        for k, work in works.items():
            if work.told.thresholds:
                changed[k] = recalibrated(grown, work.task, work.group, solved)
        made = written(grown, changed, solved, replace(now, action=_action(works)))
        return [replace(work.told, file=made.tasks[k].file) for k, work in works.items()]


def _new(grown: Grown, part: int) -> Array:
    """Return the nodes that are new to the bank, of classes that it knows, in one part."""
    parts = part_by_name(grown.place.source.graph, grown.config.split)
    return np.flatnonzero((grown.known.task < 0) & (grown.task_of >= 0) & (parts == part))


def _works(grown: Grown, then: Grown | None, progress: Progress) -> dict[int, Work]:
    """Return every task that the graph changes, by its position."""
    with ExitStack() as stack:
        earlier: AsItWas = _as_it_is
        if then is not None:
            earlier = _as_it_was(grown, then, stack)
        none_gone = np.zeros(len(grown.place.keys), bool)
        sights = grown.sights(_new(grown, TRAIN), none_gone, stack)
        return {
            k: work
            for k in range(len(grown.now.tasks))
            if (work := _work(grown, k, sights, earlier, progress))
        }


def _as_it_is(position: int) -> Earlier | None:
    """Return no earlier graph: known nodes have the features and edges that they had."""
    return None


def _as_it_was(grown: Grown, before: Grown, stack: ExitStack) -> AsItWas:
    """Return what gives the earlier graph as the rows of a task saw it.

    Raises:
        TaamctlError: rows see nodes of other tasks, and the graph has some but not all of these.
    """
    none = np.zeros(0, np.int64)
    sights = before.sights(none, np.zeros(len(before.place.keys), bool), stack)
    for position, record in enumerate(grown.records):
        _, whole, _ = group_of(grown, position, record)
        if sights.shared and not whole:
            raise TaamctlError(
                f"{grown.place.source.graph.name} lacks nodes of {grown.name(position)}, whose "
                "rows may have changed with the nodes that --before is for (bank.edges is all)",
                "give the whole graph as it is now, and the whole graph as it was before",
            )
    return lambda position: Earlier(before.place, sights.of(position).before)


def _work(
    grown: Grown,
    position: int,
    sights: Sights,
    earlier: AsItWas,
    progress: Progress,
) -> Work | None:
    """Return a task with what the graph adds to it; None where it changes nothing."""
    new, new_val = (
        nodes[grown.task_of[nodes] == position] for nodes in (sights.new, _new(grown, VAL))
    )
    record = grown.records[position]
    _, whole, whole_val = group_of(grown, position, record)
    task = grown.task(position)
    assert task.exact is not None
    state, replaced, prototype, then = task.exact(), 0, True, None
    if len(new) or whole or sights.reaches(position):
        change = _change(grown, position, sights.of(position), new, whole=whole)
        then = earlier(position) if whole else None
        made = applied(grown.place, state, change, grown.name(position), then)
        state, replaced, prototype = made.state, made.replaced, made.prototype
    behind = _behind(task, record, whole=whole, whole_val=whole_val)
    if not any((len(new), len(new_val), replaced, behind)):
        return None
    state = _with_val(grown, state, new_val)
    task = with_state(task, state, grown.config)
    group, _, _ = group_of(grown, position, state.record)
    if whole and _is_old(new, then, behind=behind):
        task = refitted(grown, position, task, group, progress)
    told = TaskUpdate(
        grown.now.tasks[position].number,
        *(len(new), len(new_val), replaced, whole, whole_val, prototype),
    )
    return Work(told, task, group)


def _is_old(new: Array, then: Earlier | None, *, behind: bool) -> bool:
    """Tell whether a task's own model has seen other nodes than the task has now, or others'
    features and edges. Rows of sums that were exchanged for nodes of other tasks are not its own.
    """
    return len(new) > 0 or behind or then is not None


def _behind(task: TaskState, record: NodeRecord, *, whole: bool, whole_val: bool) -> bool:
    """Tell whether a task's model or thresholds are of fewer nodes than it knows, and all are at
    hand.
    """
    train, val = (int((record.part == part).sum()) for part in (TRAIN, VAL))
    return (whole and task.nodes[0] != train) or (whole_val and task.nodes[1] != val)


def _change(grown: Grown, position: int, sight: Sight, new: Array, *, whole: bool) -> Change:
    known = grown.known.of(position, TRAIN)
    y = np.where(grown.known.task == position, grown.known.label, grown.class_of)
    return Change(known, np.zeros(len(known), bool), new, y, whole, sight)


def _with_val(grown: Grown, state: ClassState, new: Array) -> ClassState:
    """Return a task's exact part with validation nodes that it knows now."""
    more = grown.place.fresh(new, grown.class_of[new], VAL)
    return replace(state, record=state.record.joined(more))


def _action(works: dict[int, Work]) -> str:
    """Return what made the generation, in words."""
    nodes = sum(work.told.train + work.told.val for work in works.values())
    numbers = ", ".join(str(work.told.number) for work in works.values())
    return f"updated tasks {numbers} with {nodes:,} nodes"
