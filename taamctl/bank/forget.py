"""Take nodes out of a bank as if it had never seen them: their rows off the sums, their neighbours'
rows as they are without them, and away with everything else that they touched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote

import numpy as np

from taamctl.bank import node_record, router, store, task_file
from taamctl.bank.class_state import ClassState
from taamctl.bank.context import joined
from taamctl.bank.forgotten_files import Touched, touched_files
from taamctl.bank.graph_change import Change, applied, without
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
from taamctl.bank.known_nodes import SHOWN
from taamctl.bank.manifest import Manifest
from taamctl.bank.node_record import TRAIN
from taamctl.bank.sight import Sights
from taamctl.bank.task_file import TaskState, with_state
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array
from taamctl.features import column_sizes
from taamctl.propagation.room import UNLIMITED, Room

AGAIN, AWAY, KEPT = "learned again", "taken away", "never saw them"


@dataclass(frozen=True)
class TaskForgot:
    """What became of one task.

    Attributes:
        number: of the task. train, val: nodes that it forgot.
        replaced: other nodes whose rows are now as they are without them.
        model, prototype, thresholds: `learned again`, `taken away` or `never saw them`.
    """

    number: int
    train: int
    val: int
    replaced: int
    model: str
    prototype: str
    thresholds: str


@dataclass(frozen=True)
class Forgot:
    """What `forget` did.

    Attributes:
        nodes: how many nodes were named. before, after: the generations.
        deleted: files of earlier generations that held them.
    """

    nodes: int
    before: Manifest
    after: Manifest
    tasks: list[TaskForgot]
    deleted: list[str]


@dataclass
class Plan:
    """What is to be done with one task: its thresholds were measured while the bank knew the nodes.

    Attributes:
        gone: its training nodes to forget, as rows of the graph. keys: [K, 16] of all its nodes
            to forget. whole: the graph has all its nodes to train on.
        lost: what cannot be learned again.
    """

    gone: Array
    keys: Array
    whole: bool
    lost: list[str] = field(default_factory=list)


@subnormals.flushed()
def forget(
    folder: Path,
    source: Source,
    names: Sequence[str],
    *,
    context: Source | None = None,
    purge: bool = False,
    wait: bool = True,
    progress: Progress = SILENT,
    tell: Tell = lambda line: None,
    room: Room = UNLIMITED,
) -> Forgot:
    """Forget nodes, all or none.

    Args:
        source: a graph that has them as they were learned, and the nodes of their tasks that their
            edges reach.
        names: of the nodes, as in the graph.
        context: the graph that the other was imported with: its nodes are looked up too.
        purge: take away what cannot be learned again because the graph lacks nodes for it: models,
            prototypes and thresholds. False: refuse.
        room: how much memory there is; no byte depends on it.

    Raises:
        TaamctlError: a node is not known or not in the graph, a class would have none left, a row
            is not the one that was learned, or something that they touched cannot be learned again;
            nothing has changed then.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        if context is not None:
            source = joined(source, context)
        grown = beside(folder, now, source, tell, room)
        keys = node_record.keys_of(sorted(set(names)), grown.place.salt)
        touched = touched_files(folder, keys)
        _require_known(grown, touched, sorted(set(names)))
        gone = _rows(grown, keys)
        plans = {k: p for k in range(len(now.tasks)) if (p := _plan(grown, k, gone, touched))}
        _require_at_hand(grown, plans, purge=purge)
        changed, told = {}, {}
        with ExitStack() as stack:
            none = np.zeros(0, np.int64)
            sights = grown.sights(none, gone & (grown.known.part == TRAIN), stack)
            for k, plan in plans.items():
                changed[k], told[k] = _without(grown, k, plan, sights, progress)
        solved = _solved(grown, plans, changed)
        for k, plan in plans.items():
            changed[k] = _thresholds(grown, changed[k], plan, solved, k)
        after = _committed(grown, changed, solved, touched, len(keys))
        for file in store.not_yet_gone(folder, after):
            (folder / file).unlink(missing_ok=True)
        return Forgot(len(keys), now, after, list(told.values()), sorted(touched.gone(after)))


def _require_known(grown: Grown, touched: Touched, names: Sequence[str]) -> None:
    if not names:
        raise TaamctlError(
            f"no node is named that {grown.folder} could forget",
            "write one name per line into the file of --nodes",
        )
    keys = node_record.keys_of(names, grown.place.salt)
    strangers = [
        name for name, key in zip(names, keys, strict=True) if key.tobytes() not in touched.known
    ]
    if strangers:
        raise TaamctlError(
            f"the bank does not know {len(strangers):,} of the {len(names):,} nodes, such as "
            f"{strangers[0][:SHOWN]!r}; nothing was forgotten",
            "write the names as they stand in the graph, one per line, and leave out those that "
            "were never learned",
        )


def _rows(grown: Grown, keys: Array) -> Array:
    """Return which nodes of the graph are to be forgotten, [N] bool.

    Raises:
        TaamctlError: the graph lacks one that a present task was trained on.
    """
    wanted = {key.tobytes() for key in keys}
    found = np.array([key.tobytes() in wanted for key in grown.place.keys], bool)
    there = {key.tobytes() for key in grown.place.keys[found]}
    for record in grown.records:
        trained = (key.tobytes() for key in record.key[record.part == TRAIN])
        lacking = sum(key in wanted and key not in there for key in trained)
        if lacking:
            raise TaamctlError(
                f"{grown.place.source.graph.name} lacks {lacking:,} of the nodes to forget: their "
                "rows are needed to take them off the sums; nothing was forgotten",
                "give a graph that has them, with the edges that they were learned with",
            )
    return found


def _plan(grown: Grown, position: int, gone: Array, touched: Touched) -> Plan | None:
    """Return what is to be done with a task; None where none of the nodes ever touched it."""
    record = grown.records[position]
    mine = np.array([key.tobytes() in touched.wanted for key in record.key], bool)
    file = grown.now.tasks[position].file
    if not mine.any() and not touched.trained_before(file):
        return None
    left = without(record, record.key[mine])
    _require_left(grown, position, left.label[left.part == TRAIN])
    _, whole, whole_val = group_of(grown, position, left)
    known = grown.known.of(position, TRAIN)
    plan = Plan(known[gone[known]], record.key[mine], whole)
    if len(plan.gone) and not whole:
        plan.lost += ["model", "prototype"]
    if not whole_val:
        plan.lost.append("thresholds")
    return plan


def _require_left(grown: Grown, position: int, labels: Array) -> None:
    """Refuse to leave a class without a node."""
    task = grown.now.tasks[position]
    counts = np.bincount(labels, minlength=len(task.classes))
    empty = [name for name, count in zip(task.classes, counts, strict=True) if not count]
    if empty:
        how = (
            f"remove the whole task: taamctl bank remove {quote(str(grown.folder))} {task.number} "
            "--purge"
        )
        if grown.config.bank.edges == "all" and len(grown.now.tasks) > 1:
            how = "teach a new bank without them: rows of other tasks have seen the whole class"
        raise TaamctlError(
            f"{', '.join(empty)} would have no node left in task {task.number}; nothing was "
            "forgotten",
            how,
        )


def _require_at_hand(grown: Grown, plans: Mapping[int, Plan], *, purge: bool) -> None:
    """Refuse what would leave something behind."""
    shared = grown.now.shared
    assert shared is not None
    for position, plan in plans.items():
        number = grown.now.tasks[position].number
        measured = len(plan.gone) and store.number_of(shared[0]) == number
        if measured and grown.now.feature_norm == column_sizes.COLUMN:
            raise TaamctlError(
                f"the sizes of all features were measured on task {number}, with the nodes to "
                "forget among its own; nothing was forgotten",
                "teach a new bank without them: taamctl bank create",
            )
    lost = [
        f"{', '.join(plan.lost)} of {grown.name(position)}"
        for position, plan in plans.items()
        if plan.lost
    ]
    if lost and not purge:
        raise TaamctlError(
            f"{grown.place.source.graph.name} lacks nodes to learn again from: {'; '.join(lost)}; "
            "nothing was forgotten",
            "give a graph with all nodes that these tasks were learned and calibrated on, or add "
            "--purge, which takes away what cannot be learned again",
        )


def _without(
    grown: Grown, position: int, plan: Plan, sights: Sights, progress: Progress
) -> tuple[TaskState, TaskForgot]:
    """Return a task without the nodes, its thresholds as they were, and what becomes of it."""
    task, model, replaced = grown.task(position), _model(plan), 0
    if len(plan.keys) or sights.reaches(position):
        state, replaced = _state_without(grown, position, plan, sights)
        if model == AWAY:
            state = replace(state, hop_sum=np.zeros_like(state.hop_sum), hop_nodes=0)
        task = with_state(task, state, grown.config)
        if model == AGAIN:
            group, _, _ = group_of(grown, position, state.record)
            task = refitted(grown, position, task, group, progress)
        elif model == AWAY:
            task = _without_model(task)
    number, train = grown.now.tasks[position].number, len(plan.gone)
    thresholds = AWAY if "thresholds" in plan.lost else AGAIN
    told = TaskForgot(number, train, len(plan.keys) - train, replaced, model, model, thresholds)
    return task, told


def _model(plan: Plan) -> str:
    """Return what becomes of a task's own model: it has seen its own nodes alone."""
    if not len(plan.gone):
        return KEPT
    return AGAIN if plan.whole else AWAY


def _state_without(
    grown: Grown, position: int, plan: Plan, sights: Sights
) -> tuple[ClassState, int]:
    """Return a task's exact part without the nodes, and how many other rows were exchanged."""
    exact, replaced = grown.task(position).exact, 0
    assert exact is not None
    state = exact()
    if len(plan.gone) or sights.reaches(position):
        known = grown.known.of(position, TRAIN)
        gone = np.isin(known, plan.gone)
        whole = plan.whole and len(plan.gone) > 0
        sight = sights.of(position)
        change = Change(known, gone, sights.new, grown.known.label, whole, sight)
        made = applied(grown.place, state, change, grown.name(position))
        state, replaced = made.state, made.replaced
    left = {key.tobytes() for key in state.record.key}
    still = np.array([key.tobytes() in left for key in plan.keys], bool)
    return replace(state, record=without(state.record, plan.keys[still])), replaced


def _without_model(task: TaskState) -> TaskState:
    none = task_file.no_reference(len(task.classes))
    return replace(
        task, loss=np.zeros(0, np.float32), state={}, reference=none, nodes=(0, task.nodes[1])
    )


def _solved(
    grown: Grown, plans: Mapping[int, Plan], changed: Mapping[int, TaskState]
) -> router.Router | None:
    """Return the regression without the nodes; None where it never saw them."""
    if any(len(plan.gone) for plan in plans.values()):
        return solved_anew(grown, changed)
    return None


def _thresholds(
    grown: Grown, task: TaskState, plan: Plan, solved: router.Router | None, position: int
) -> TaskState:
    """Return a task with thresholds that never saw the nodes, or with none."""
    if "thresholds" not in plan.lost:
        assert task.exact is not None
        record = grown.records[position]
        if len(plan.keys):
            record = task.exact().record
        group, _, _ = group_of(grown, position, record)
        return recalibrated(grown, task, group, solved or grown.router())
    none = router.quantiles(np.zeros(0))
    made = replace(task, quantiles=none, val=None, nodes=(task.nodes[0], 0))
    if len(plan.keys):
        return replace(made, halves=None, rows=None)
    return made  # means of validation nodes that are not to be forgotten


def _committed(
    grown: Grown,
    changed: Mapping[int, TaskState],
    solved: router.Router | None,
    touched: Touched,
    nodes: int,
) -> Manifest:
    """Write the generation; it names the files that have to go, so that a kill loses none."""
    now = grown.now
    replaced = {now.tasks[k].file for k in changed}
    if solved is not None and now.router is not None:
        replaced.add(now.router[0])
    gone = touched.files - (set(now.files) - replaced)
    after = replace(
        now,
        action=f"forgot {nodes:,} nodes",
        gone=tuple(sorted({*now.gone, *gone})),
    )
    return written(grown, changed, solved, after)
