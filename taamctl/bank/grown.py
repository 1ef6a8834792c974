"""A bank, a graph, and what the bank knows of the graph's nodes: what `update` and `forget` begin
with, and the generation that they end with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote

import numpy as np
import torch

from taamctl.bank import add, honest_fit, node_record, router, store, task_file
from taamctl.bank import manifest as manifests
from taamctl.bank.config import Config, from_plain
from taamctl.bank.graph_source import Source
from taamctl.bank.known_nodes import SHOWN, KnownNodes, known_nodes, require_names
from taamctl.bank.manifest import Manifest
from taamctl.bank.node_record import TRAIN, VAL, NodeRecord
from taamctl.bank.part_hops import Part, propagated
from taamctl.bank.place import Place
from taamctl.bank.sight import Sights
from taamctl.bank.task_file import Shared, TaskState
from taamctl.bank.task_groups import Group, labels_of
from taamctl.bank.written_tasks import rewritten
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.core.types import Array
from taamctl.learning.contract import device as devices
from taamctl.propagation.room import Room
from taamctl.stream.induce import message_edges

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Grown:
    """A bank beside a graph.

    Attributes:
        now: its generation. records: of every task's nodes.
        place: where rows are computed. known: what the bank knows of the graph's nodes.
        task_of, class_of: [N] position of the task that owns a node's label, and its class there;
            -1 where it has none, or one that the bank does not know.
        strangers: how many labelled nodes have a class that the bank does not know.
    """

    folder: Path
    now: Manifest
    config: Config
    shared: Shared
    records: list[NodeRecord]
    place: Place
    known: KnownNodes
    task_of: Array
    class_of: Array
    strangers: int
    device: torch.device

    def task(self, position: int) -> TaskState:
        """Read what is kept of a task."""
        path = self.folder / self.now.tasks[position].file
        return task_file.read_task(path, self.config.bank.router)

    def router(self) -> router.Router:
        """Read the solved router."""
        assert self.now.router is not None
        classes = [task.classes for task in self.now.tasks]
        return task_file.read_router(self.folder / self.now.router[0], classes)

    def sights(self, new: Array, gone: Array, stack: ExitStack) -> Sights:
        """Return what rows see when training nodes come or go.

        Args:
            new: [k] nodes to add. gone: [N] bool, nodes to take off.
            stack: closes what many tasks read.
        """
        return Sights(self.place, self.known, new, self.task_of, gone, stack)

    def name(self, position: int) -> str:
        """Return what a task is called in messages."""
        return f"task {self.now.tasks[position].number}"


def require_exact(folder: Path, now: Manifest, config: Config) -> None:
    """Refuse a bank that keeps no sums per class, or knows no class."""
    if config.bank.sums != "class":
        raise TaamctlError(
            f"the bank {folder} keeps one rounded sum per task and no record of its nodes, so "
            "nodes cannot be added or taken off exactly",
            "make a bank that can: taamctl bank create DIR --set bank.sums=class",
        )
    if now.shared is None or not now.tasks:
        raise TaamctlError(
            f"the bank {folder} knows no class",
            f"teach it some: taamctl bank add-task {quote(str(folder))} --graph FILE",
        )


def beside(folder: Path, now: Manifest, source: Source, tell: Tell, room: Room) -> Grown:
    """Look at a graph with the eyes of a bank; hold the bank's lock.

    Args:
        source: the graph; the last `source.context` nodes have no label.
        room: how much memory there is.

    Raises:
        TaamctlError: the bank cannot be grown, a file of it is not as it was listed, other
            features, two nodes of one name, or a known node with another label.
    """
    config = from_plain(now.config, str(folder / manifests.NAME))
    require_exact(folder, now, config)
    device = devices.resolve(config.train.device)
    devices.pin(device, config.train.threads)
    store.require(folder, now)
    source = add.with_the_banks_features(folder, now, config, source, tell)
    assert now.shared is not None
    assert now.feature_norm is not None
    shared = task_file.read_shared(folder / now.shared[0], config)
    assert shared.salt is not None
    names = node_record.names_of(source.graph)
    require_names(names, source.graph.name)
    keys = node_record.keys_of(names, shared.salt)
    records = [task_file.read_known(folder / task.file) for task in now.tasks]
    edges = message_edges(source.graph.adjacency, config.split.symmetrize, source.directed)
    norm = shared.norm(now.feature_norm)
    place = Place(source, edges, config, shared, norm, shared.salt, keys, room)
    task_of, class_of, strangers = _labels(source, config, now)
    known = known_nodes(place.index, len(keys), records)
    _require_same_labels(known, task_of, class_of, names)
    return Grown(
        *(folder, now, config, shared, records, place, known),
        *(task_of, class_of, strangers, device),
    )


def _labels(source: Source, config: Config, now: Manifest) -> tuple[Array, Array, int]:
    """Return the task and the class of every node by its label, and how many labels are of no
    task.
    """
    places = {
        name: (position, c)
        for position, task in enumerate(now.tasks)
        for c, name in enumerate(task.classes)
    }
    labels = labels_of(source, config.split)
    table = [places.get(name, (-1, -1)) for name in source.graph.class_names]
    pairs = np.array([*table, (-1, -1)], np.int64)  # the last is that of the label -1
    found = pairs[labels]
    strangers = int(((labels >= 0) & (found[:, 0] < 0)).sum())
    return found[:, 0], found[:, 1], strangers


def _require_same_labels(
    known: KnownNodes, task_of: Array, class_of: Array, names: list[str]
) -> None:
    """Refuse known nodes whose label is another now."""
    moved = (known.task >= 0) & (task_of >= 0)
    moved &= (known.task != task_of) | (known.label != class_of)
    if moved.any():
        first = names[int(moved.argmax())][:SHOWN]
        raise TaamctlError(
            f"{int(moved.sum()):,} nodes have another label than when they were learned, such as "
            f"{first!r}",
            "forget them first (taamctl bank forget), then update with the new labels",
        )


def group_of(grown: Grown, position: int, record: NodeRecord) -> tuple[Group, bool, bool]:
    """Return the nodes of a task that the graph has, and whether it has all to train on, and all
    to calibrate on.

    Args:
        record: of the task as it is to be.
    """
    rows = grown.place.index.rows(record.key)
    parts = []
    for part in (TRAIN, VAL):
        mine = record.part == part
        there = mine & (rows >= 0)
        order = np.argsort(rows[there])
        parts.append((rows[there][order], record.label[there][order], bool((mine == there).all())))
    (train, y_train, whole), (val, y_val, whole_val) = parts
    names = grown.now.tasks[position].classes
    return Group(names, train, y_train, val, y_val), whole, whole_val


def refitted(
    grown: Grown, position: int, task: TaskState, group: Group, progress: Progress
) -> TaskState:
    """Return a task with its own model learned again, from all its training nodes."""
    config = grown.config
    bounds = grown.now.bounds[:position]

    def train() -> Part:
        return _propagated(grown, group.train, group.y_train)

    model = add.fitted_alone(config, grown.shared, bounds, group, train, grown.device, progress)
    return replace(
        task,
        loss=model.losses,
        state=model.state,
        reference=model.reference,
        nodes=(len(group.train), task.nodes[1]),
    )


def recalibrated(grown: Grown, task: TaskState, group: Group, solved: router.Router) -> TaskState:
    """Return a task with what its validation nodes say, looked at again with a router."""
    profiled = range(max(grown.config.infer.hops) + 1)
    with _propagated(grown, group.val, group.y_val, profiled) as val:
        made = add.with_validation(task, solved, grown.shared, val, grown.config)
    return replace(made, nodes=(task.nodes[0], len(group.val)))


def _propagated(grown: Grown, ids: Array, y: Array, more: Iterable[int] = ()) -> Part:
    """Propagate some nodes of the graph as those of one part: nodes of a context are no neighbours
    here, as they are none where the whole graph is given, and may be those to forget.
    """
    place, config = grown.place, grown.config
    alone = replace(place.source, context=0)
    return propagated(alone, place.adjacency, ids, y, config, place.norm, more, place.room)


def solved_anew(grown: Grown, changed: Mapping[int, TaskState]) -> router.Router:
    """Solve the regression with the tasks that changed."""
    params = grown.config.bank.router
    tasks = [changed.get(k) or grown.task(k) for k in range(len(grown.now.tasks))]
    return router.solve([t.sums for t in tasks], [t.classes for t in tasks], params)


def written(
    grown: Grown, changed: Mapping[int, TaskState], solved: router.Router | None, after: Manifest
) -> Manifest:
    """Write the files of a generation and commit it.

    Args:
        changed: by position, the tasks that are not as they were.
        solved: the router; None where it is as it was.
        after: what the generation says beside its files.
    """
    folder, number = grown.folder, grown.now.generation + 1
    solved = _with_honest(grown, changed, solved)
    entries = rewritten(folder, grown.now, changed)
    stamp = grown.now.router
    if solved is not None:
        file = f"router-{number:04d}.h5"
        task_file.write_router(folder / file, solved, {"bank": grown.now.config})
        stamp = store.stamp(folder, file)
    return store.commit(folder, grown.now, replace(after, tasks=entries, router=stamp))


def _with_honest(
    grown: Grown, changed: Mapping[int, TaskState], solved: router.Router | None
) -> router.Router | None:
    """Return the router with what the bank knows of its answers now; None where it is as it was."""
    if not grown.config.bank.val_rows:
        return solved
    tasks = [changed.get(k) or grown.task(k) for k in range(len(grown.now.tasks))]
    now = solved or grown.router()
    return replace(now, honest=honest_fit.fitted(tasks, now, grown.shared, grown.config))
