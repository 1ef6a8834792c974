"""Learn new classes: from a graph with labels to task files, one generation of the bank per
task.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from taamctl.bank import (
    feature_names,
    first_rows,
    honest_fit,
    kept_val,
    node_record,
    router,
    store,
    sureness,
    task_file,
)
from taamctl.bank import manifest as manifests
from taamctl.bank.config import Config, from_plain
from taamctl.bank.context import joined, unused
from taamctl.bank.graph_source import Source
from taamctl.bank.manifest import Entry, Manifest
from taamctl.bank.part_hops import Part, propagated
from taamctl.bank.place import Place
from taamctl.bank.task_file import Shared, TaskState, with_state
from taamctl.bank.task_groups import Group, new_groups
from taamctl.bank.written_tasks import committed
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.core.rows import of_whole
from taamctl.core.types import CSR, Array, Task, TaskData
from taamctl.features import column_sizes
from taamctl.learning.contract import device as devices
from taamctl.learning.kernels import class_sums, ridge, squeezed
from taamctl.propagation.room import UNLIMITED, Room
from taamctl.stream.induce import message_edges

Tell = Callable[[str], None]


@subnormals.flushed()
def add(
    folder: Path,
    source: Source,
    *,
    classes: Sequence[str] | None = None,
    per_task: int | None = None,
    context: Source | None = None,
    wait: bool = True,
    progress: Progress = SILENT,
    tell: Tell = lambda line: None,
    room: Room = UNLIMITED,
) -> list[Entry]:
    """Learn the classes of a graph that the bank does not know; return the new tasks.

    Every task is finished and committed before the next one begins. No file that was there is
    touched.

    Args:
        classes: names of the classes to learn; None: all labelled ones that are new.
        per_task: cut them into tasks of so many classes; None: the graph's own tasks where it
            states any, else one task.
        context: the graph that the other was imported with: its nodes are neighbours of every part,
            and nothing is learned of them. None: edges to it are not used.
        room: how much memory there is; no byte depends on it.

    Raises:
        TaamctlError: a class is known or missing, the features have another width, or nothing is
            left to learn.
    """
    with store.changing(folder, wait=wait, tell=tell) as now:
        config = from_plain(now.config, str(folder / manifests.NAME))
        device = devices.resolve(config.train.device)
        devices.pin(device, config.train.threads)
        store.require(folder, now)
        if context is not None:
            _require_no_record(config)
            source = joined(source, context)
        elif note := unused(source.graph.outside):
            tell(f"note: {note}")
        source = with_the_banks_features(folder, now, config, source, tell)
        by_name = config.bank.sums == "class"
        groups, notes = new_groups(
            source, config.split, now.classes, classes, per_task, by_name=by_name
        )
        for note in notes:
            tell(f"note: {note}")
        adjacency = message_edges(source.graph.adjacency, config.split.symmetrize, source.directed)
        progress.start("learn", config.train.epochs * len(groups))
        for group in groups:
            now = _add_one(folder, now, config, source, adjacency, group, device, progress, room)
            task = now.tasks[-1]
            progress.line(f"task {task.number}: {', '.join(task.classes)} ({task.train:,} nodes)")
        progress.finish()
        return list(now.tasks[len(now.tasks) - len(groups) :])


def _require_no_record(config: Config) -> None:
    """Refuse neighbours of new classes where every node that a sum has seen is recorded."""
    if config.bank.sums == "class":
        raise TaamctlError(
            "--context: a bank with bank.sums=class learns a new class from its own nodes alone, "
            "so that each of them can be forgotten",
            "leave --context out; nodes of known classes may have it: taamctl bank update",
        )


def with_the_banks_features(
    folder: Path, now: Manifest, config: Config, source: Source, tell: Tell
) -> Source:
    """Return the graph with its features in the order of the bank's; refuse other features."""
    graph = source.graph
    if not graph.num_nodes:
        raise TaamctlError(
            f"{graph.name} has no node, so there is nothing to learn", "give a graph with nodes"
        )
    if now.shared is not None:
        learned = task_file.read_shared(folder / now.shared[0], config).feature_names
        source = feature_names.reordered(source, learned)
        if note := feature_names.unchecked(learned, graph.feature_names, source.before_names):
            tell(f"note: {note}")
    if now.num_features is not None and now.num_features != graph.num_features:
        raise TaamctlError(
            f"{graph.name} has {graph.num_features} features per node, the bank was made for "
            f"{now.num_features}",
            "every graph of a bank needs the same features in the same order",
        )
    return source


def _add_one(
    folder: Path,
    before: Manifest,
    config: Config,
    source: Source,
    adjacency: CSR,
    group: Group,
    device: torch.device,
    progress: Progress,
    room: Room,
) -> Manifest:
    """Learn one task, write its files and commit the next generation."""
    norm = before.feature_norm or config.precompute.resolved_norm(source.feature_norm)
    now, shared = _with_shared(folder, before, config, source, group, norm)
    params = config.bank.router
    known = [task_file.read_task(folder / t.file, params) for t in now.tasks]
    scaled = shared.norm(norm)

    def train() -> Part:
        return propagated(source, adjacency, group.train, group.y_train, config, scaled, room=room)

    changed: dict[int, TaskState] = {}
    if shared.salt is None:
        task = learn(config, shared, now.bounds, group, train, device, progress)
    else:
        names = node_record.names_of(source.graph)
        keys = node_record.keys_of(names, shared.salt)
        place = Place(source, adjacency, config, shared, scaled, shared.salt, keys, room)
        state, changed = first_rows.learned(place, group, now, known)
        model = fitted_alone(config, shared, now.bounds, group, train, device, progress)
        task = with_state(_new_task(group, model), state, config)
    known = [changed.get(k, older) for k, older in enumerate(known)]
    tasks = [*known, task]
    solved = router.solve([t.sums for t in tasks], [t.classes for t in tasks], params)
    task = replace(task, nodes=(len(group.train), len(group.val)))
    profiled = range(max(config.infer.hops) + 1)
    with propagated(
        *(source, adjacency, group.val, group.y_val, config, scaled, profiled, room)
    ) as val:
        task = with_validation(task, solved, shared, val, config)
    solved = replace(solved, honest=honest_fit.fitted([*known, task], solved, shared, config))
    return committed(folder, before, now, task, changed, solved, source.graph.name)


def _with_shared(
    folder: Path, now: Manifest, config: Config, source: Source, group: Group, norm: str
) -> tuple[Manifest, Shared]:
    """Return what all tasks share; before the first one it is drawn and written."""
    if now.shared is not None:
        return now, task_file.read_shared(folder / now.shared[0], config)
    shared = _drawn(config, source, group, norm)
    file = f"shared-{now.generation + 1:04d}.h5"
    task_file.write_shared(folder / file, shared, {"bank": now.config})
    stamp, features = store.stamp(folder, file), source.graph.num_features
    return replace(now, num_features=features, feature_norm=norm, shared=stamp), shared


def _drawn(config: Config, source: Source, group: Group, norm: str) -> Shared:
    """Draw what all tasks share, from the bank's seed and its first task's training nodes; the key
    of hashes by chance, so that those of two banks cannot be compared.
    """
    graph = source.graph
    shared = task_file.draw_shared(config, graph.num_features, graph.feature_names)
    if config.bank.sums == "class":
        salt = np.frombuffer(os.urandom(node_record.SALT), np.uint8)
        shared = replace(shared, salt=salt)
    sizes = column_sizes.resolved(norm, of_whole(graph.features), group.train)
    if isinstance(sizes, str):
        return shared
    return replace(shared, feature_sizes=sizes)


def learn(
    config: Config,
    shared: Shared,
    bounds: tuple[tuple[int, int], ...],
    group: Group,
    train: Callable[[], Part],
    device: torch.device,
    progress: Progress,
) -> TaskState:
    """Train the method on one task, and collect one sum of it; nothing is calibrated yet.

    Args:
        bounds: class ids of the bank's tasks; the new one's follow them.
        train: what returns the task's training nodes.
    """
    params = config.bank.router
    with train() as part:
        model = fitted(config, shared, bounds, group, lambda: part, device, progress)
        hops = {j: part.hops[j].first(len(part.y)) for j in params.hops}
        sums = ridge.collect(hops, part.y, len(group.names), shared.lift, params)
        means = part.means(config.precompute.max_hop).astype(np.float32)
    sums = squeezed.stored(sums, len(class_sums.views_of(params)))
    return replace(_new_task(group, model), hop_mean=means, sums=lambda: sums)


def _new_task(group: Group, model: Fitted) -> TaskState:
    """Return a task that no sum is known of yet."""
    none = torch.zeros(0, 0)
    no_sums = ridge.Sums(none, none, 0)
    return TaskState(
        group.names,
        model.bounds,
        (0, 0),
        model.losses,
        model.state,
        np.zeros((0, 0), np.float32),
        lambda: no_sums,
        np.zeros(0),
        model.reference,
    )


@dataclass(frozen=True)
class Fitted:
    """A task's own model: its class ids [low, high), its losses, its state, and its outputs for
    the shared random rows.
    """

    bounds: tuple[int, int]
    losses: Array
    state: task_file.State
    reference: Array


def fitted(
    config: Config,
    shared: Shared,
    bounds: tuple[tuple[int, int], ...],
    group: Group,
    train: Callable[[], Part],
    device: torch.device,
    progress: Progress,
) -> Fitted:
    """Train the method on one task; nothing, where a bank has no models of tasks.

    Args:
        bounds: class ids of the tasks before; the new one's follow them.
        train: what returns the task's training nodes; not asked where a bank has no models.

    Raises:
        TaamctlError: training diverged.
    """
    low = bounds[-1][1] if bounds else 0
    own, features = (low, low + len(group.names)), shared.probe.shape[1]
    if not config.has_experts:
        return Fitted(own, np.zeros(0, np.float32), {}, task_file.no_reference(len(group.names)))
    method = config.make(features, (*bounds, own), device)
    part = train()
    h = part.hops[config.precompute.hops][: len(part.y)]
    deg = torch.from_numpy(part.operator.degree[: len(part.y)].astype(np.float32))
    losses = np.asarray(
        method.learn((TaskData(Task(len(bounds), *own), h, part.y + low, deg),), progress)
    )
    if not np.isfinite(losses).all():
        raise TaamctlError(
            f"training diverged on {', '.join(group.names)}",
            "look for extreme values in the features, or make a bank with a lower train.lr",
        )
    state = {name: np.array(array) for name, array in method.state().items()}
    expert = task_file.expert(config, shared, state, len(group.names))
    return Fitted(own, losses, state, task_file.reference(expert, shared))


def fitted_alone(
    config: Config,
    shared: Shared,
    bounds: tuple[tuple[int, int], ...],
    group: Group,
    train: Callable[[], Part],
    device: torch.device,
    progress: Progress,
) -> Fitted:
    """Return what `fitted` returns, where nothing else looks at the task's training nodes."""
    with ExitStack() as files:

        def part() -> Part:
            return files.enter_context(train())

        return fitted(config, shared, bounds, group, part, device, progress)


def with_validation(
    task: TaskState, solved: router.Router, shared: Shared, val: Part, config: Config
) -> TaskState:
    """Return a task with what its validation nodes say: how novel they look, and how sure they are
    routed.
    """
    return replace(
        task,
        quantiles=calibrated(solved, shared, val, config),
        halves=sureness.halves_of(val.own(), val.y.numpy(), config),
        rows=sureness.rows_of(val.own(), shared.lift, config),
        val=kept_val.drawn(val.x, val.operator, val.y.numpy(), config.bank.val_rows),
    )


def calibrated(solved: router.Router, shared: Shared, val: Part, config: Config) -> Array:
    """Return the table of how novel the task's validation nodes look to the bank."""
    if not len(val.y):
        return router.quantiles(np.zeros(0))
    hops = config.bank.router.hops
    rows = range(0, len(val.operator.degree), ridge.ROWS)
    found = []
    for low in rows:
        block = {j: val.hops[j][low : low + ridge.ROWS] for j in hops}
        found.append(solved.novelty(solved.scores(shared.lift.profile(block, hops))))
    novelty = router.around(np.concatenate(found), val.operator)
    return router.quantiles(novelty[: len(val.y)])
