"""The exact part of a new task, and what its nodes change of older tasks, where rows see the nodes
of all tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from taamctl.bank.class_state import ClassState
from taamctl.bank.graph_change import Change, applied, first_state
from taamctl.bank.known_nodes import KnownNodes, known_nodes, require_unknown
from taamctl.bank.manifest import Manifest
from taamctl.bank.node_record import TRAIN, VAL
from taamctl.bank.place import Place
from taamctl.bank.sight import Sights
from taamctl.bank.task_file import TaskState, with_state
from taamctl.bank.task_groups import Group


def learned(
    place: Place, group: Group, now: Manifest, tasks: Sequence[TaskState]
) -> tuple[ClassState, dict[int, TaskState]]:
    """Return the exact part of a new task, and by their positions the older tasks that it changes.

    Args:
        tasks: the older ones, as `now` lists them.

    Raises:
        TaamctlError: another task knows a node already, or a row of an older task is not the one
            that was learned.
    """
    records = [task.exact().record for task in tasks if task.exact is not None]
    known = known_nodes(place.index, len(place.keys), records)
    require_unknown(place, np.concatenate([group.train, group.val]), known, now)
    nodes = len(place.keys)
    task_of = np.full(nodes, -1, np.int64)
    task_of[group.train] = len(tasks)
    with ExitStack() as stack:
        sights = Sights(place, known, group.train, task_of, np.zeros(nodes, bool), stack)
        sight = sights.of(len(tasks))
        state = first_state(place, group.train, group.y_train, len(group.names), sight.after)
        changed = _reached(place, known, sights, now, tasks)
    of_val = place.fresh(group.val, group.y_val, VAL)
    return replace(state, record=state.record.joined(of_val)), changed


def _reached(
    place: Place, known: KnownNodes, sights: Sights, now: Manifest, tasks: Sequence[TaskState]
) -> dict[int, TaskState]:
    """Return the older tasks with rows near the new nodes exchanged, those that have any."""
    changed = {}
    for k, task in enumerate(tasks):
        if not sights.reaches(k):
            continue
        assert task.exact is not None
        mine, none = known.of(k, TRAIN), np.zeros(0, np.int64)
        stays = np.zeros(len(mine), bool)
        change = Change(mine, stays, none, known.label, False, sights.of(k))
        made = applied(place, task.exact(), change, f"task {now.tasks[k].number}")
        if made.replaced:
            changed[k] = with_state(task, made.state, place.config)
    return changed
