"""Who arrives when, which classes are new then, and whose label is never shown."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, NodeGraph, Task
from taamctl.prequential.snapshots import cut, times_of
from taamctl.prequential.stream_options import StreamOptions


@dataclass(frozen=True)
class Arrivals:
    """A graph's life. Classes are numbered in the order in which their first label is shown.

    Attributes:
        snapshot: [N] int64, when a node arrives; -1: never, as it has no time.
        y: [N] int64, its class; -1: unlabelled.
        shown: [N] bool, whether its label is shown after it was predicted.
        first: [C] int64, the snapshot in which a class is new; ascending.
        class_names: C names.
    """

    snapshot: Array
    y: Array
    shown: Array
    first: Array
    class_names: tuple[str, ...]

    @property
    def count(self) -> int:
        """Return T, the number of snapshots."""
        return int(self.snapshot.max()) + 1

    @property
    def labelled(self) -> Array:
        """Tell of every node whether it arrives and has a label, [N] bool."""
        return np.asarray((self.snapshot >= 0) & (self.y >= 0))

    @property
    def known(self) -> Array:
        """Tell of every node whether its class is known before it arrives, [N] bool."""
        before = np.array([self.seen(t - 1) for t in range(self.count)])
        return np.asarray(self.labelled & (self.y < before[self.snapshot]))

    @property
    def held(self) -> Array:
        """Return the nodes whose label is never shown, ascending."""
        return np.flatnonzero(self.labelled & ~self.shown)

    def seen(self, snapshot: int) -> int:
        """Return how many classes are known after a snapshot."""
        return int(np.searchsorted(self.first, snapshot, side="right"))

    def tasks(self) -> dict[int, Task]:
        """Return snapshot -> the task of its new classes, where it has some."""
        found = [int(t) for t in np.unique(self.first)]
        return {t: Task(i, self.seen(t - 1), self.seen(t)) for i, t in enumerate(found)}


def arrivals_of(graph: NodeGraph, labels: Array, options: StreamOptions) -> Arrivals:
    """Return the life of a graph.

    Args:
        labels: [N] int64, as the graph has them or as its reader takes them.

    Raises:
        TaamctlError: there are no times, fewer than two snapshots, or fewer than two classes.
    """
    snapshot = _from_first_label(cut(times_of(graph, options), options, graph.name), labels)
    classes = len(np.unique(labels[(snapshot >= 0) & (labels >= 0)]))
    if classes < 2:
        raise TaamctlError(
            f"{graph.name}: nodes of {classes} classes arrive; a replay needs two",
            "give nodes of two classes a time and a label",
        )
    if snapshot.max() < 1:
        raise TaamctlError(
            f"{graph.name}: all labels arrive in one snapshot, the last",
            "give more --snapshots, or nodes with a label an earlier time",
        )
    shown = _shown(labels, snapshot, options)
    first = np.full(len(graph.class_names), -1, np.int64)
    for node in np.flatnonzero(shown)[np.argsort(-snapshot[shown], kind="stable")]:
        first[labels[node]] = snapshot[node]  # the earliest comes last
    known = np.flatnonzero(first >= 0)
    order = known[np.argsort(first[known], kind="stable")]
    number = np.full(len(first) + 1, -1, np.int64)  # the last is that of unlabelled nodes
    number[order] = np.arange(len(order))
    names = tuple(graph.class_names[c] for c in order)
    return Arrivals(snapshot, number[labels], shown, first[order], names)


def _from_first_label(snapshot: Array, labels: Array) -> Array:
    """Let the replay begin with the first label: what is there by then is there at once."""
    begin = snapshot[(snapshot >= 0) & (labels >= 0)].min(initial=snapshot.max())
    return np.where(snapshot < 0, -1, np.maximum(snapshot - begin, 0))


def _shown(labels: Array, snapshot: Array, options: StreamOptions) -> Array:
    """Draw whose label is shown: of every class and snapshot all but a share, at least one."""
    shown = (snapshot >= 0) & (labels >= 0)
    nodes = np.flatnonzero(shown)
    nodes = nodes[numpy_generator(options.draw, "stream/held").permutation(len(nodes))]
    group = labels[nodes] * (int(snapshot.max(initial=0)) + 1) + snapshot[nodes]
    nodes = nodes[np.argsort(group, kind="stable")]
    _, sizes = np.unique(group, return_counts=True)
    place = np.concatenate([np.arange(size) for size in sizes] or [np.zeros(0)])
    shown[nodes[place < np.floor(options.held * np.repeat(sizes, sizes))]] = False
    return shown
