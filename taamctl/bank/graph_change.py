"""What a graph changes of a task's exact sums: rows that were learned are taken off, checked
against the record, and rows as they are now are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from taamctl.bank import node_record
from taamctl.bank.class_state import ClassState
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.bank.node_record import KeyIndex, NodeRecord
from taamctl.bank.part_rows import PartRows
from taamctl.bank.task_file import Shared
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm
from taamctl.learning.kernels import class_sums
from taamctl.propagation.room import Room, StoredRows

Hops = dict[int, StoredRows]
CHECKED = 8192  # rows whose checks are computed at once


@dataclass(frozen=True)
class Place:
    """A graph, and what a bank makes rows of it with.

    Attributes:
        adjacency: its edges as the bank uses them. salt: the bank's. keys: [N, 16] of its nodes.
        room: how much memory there is.
    """

    source: Source
    adjacency: CSR
    config: Config
    shared: Shared
    norm: Norm
    salt: Array
    keys: Array
    room: Room = field(default_factory=Room)

    @cached_property
    def index(self) -> KeyIndex:
        """Return what its nodes are looked up by."""
        return KeyIndex(self.keys)

    @property
    def hops(self) -> tuple[int, ...]:
        """Return the hops that the sums are made of, ascending."""
        return tuple(sorted(self.config.bank.router.hops))

    @property
    def reach(self) -> int:
        """Return how many edges away a node can change a row: one more than there are hops, as S
        has the degrees of both ends of an edge.
        """
        return self.hops[-1] + min(self.hops[-1], 1)

    def part(self, ids: Array) -> PartRows:
        """Return the subgraph that some nodes induce."""
        loops = self.config.precompute.self_loops
        return PartRows(self.source, self.adjacency, ids, loops, self.norm, self.room)

    def fresh(self, ids: Array, y: Array, part: int) -> NodeRecord:
        """Return a record of nodes without rows."""
        n = len(ids)
        checks = np.zeros((n, node_record.CHECKS))
        return node_record.ordered(
            self.keys[ids], y, np.full(n, part), checks, np.zeros(n, np.int64)
        )


@dataclass(frozen=True)
class Change:
    """What becomes of the training nodes of one task.

    Attributes:
        known: [n] nodes of the graph that the task knows, ascending. gone: [n] bool, those to take
            off. new: [k] nodes to add.
        y: [N] class in the task of every node of the graph that is any of these.
        whole: the graph has all training nodes that the task knows.
    """

    known: Array
    gone: Array
    new: Array
    y: Array
    whole: bool

    @property
    def after(self) -> Array:
        """Return the nodes that the task knows then, ascending."""
        return np.sort(np.concatenate([self.known[~self.gone], self.new]))


@dataclass(frozen=True)
class Changed:
    """A task's exact part after a change.

    Attributes:
        replaced: how many other known nodes have another row now.
        prototype: whether the mean of its hop features is that of all its nodes.
    """

    state: ClassState
    replaced: int
    prototype: bool


def first_state(place: Place, ids: Array, y: Array, classes: int) -> ClassState:
    """Return the exact part of a new task, from its training nodes.

    Args:
        ids: [n] nodes, ascending. y: [n] their classes.
    """
    part, by_class = place.part(ids), np.argsort(y, kind="stable")
    record = place.fresh(ids, y, node_record.TRAIN)
    params = place.config.bank.router
    with part.rows(by_class, place.hops) as hops:
        record = _seen(place, record, part, by_class, hops)
        rows = class_sums.Rows(hops, y[by_class])
        sums = class_sums.collect(rows, classes, place.shared.lift, params)
    hop_sum = part.hop_sum(place.config.precompute.max_hop)
    return ClassState(sums, record, hop_sum, len(ids))


@dataclass(frozen=True)
class Swap:
    """Rows to take off and rows to put in their place.

    Attributes:
        before: the part that rows are taken from, in the graph of `there`. taken: [n] bool of it.
        after: the part that rows are put from. put: [n] bool of it.
    """

    there: Place
    before: PartRows
    taken: Array
    after: PartRows
    put: Array


def applied(
    place: Place, state: ClassState, change: Change, name: str, earlier: Place | None = None
) -> Changed:
    """Return a task's exact part after a change of its training nodes.

    Args:
        name: of the task, for messages.
        earlier: the graph as it was learned, where known nodes have other features or edges now;
            None: they have not. The change has to be of all nodes of the task then.

    Raises:
        TaamctlError: a row that would be taken off is not the one that was learned.
    """
    after = place.part(change.after)
    newcomers = np.isin(after.ids, change.new)
    if earlier is None:
        swap = _near(place, state.record, change, after, name)
    else:
        swap = _edited(place, earlier, state.record, after, name)
    record = without(state.record, place.keys[change.known[change.gone]])
    record = record.joined(place.fresh(change.new, change.y[change.new], node_record.TRAIN))
    made = _swapped(place, replace(state, record=record), state.record, swap, change.y)
    made, exact = _with_hop_sum(place, made, change, after, newcomers)
    return Changed(made, int(swap.taken.sum() - change.gone.sum()), exact)


def _swapped(
    place: Place, state: ClassState, learned: NodeRecord, swap: Swap, y: Array
) -> ClassState:
    """Return a task's exact part with its rows swapped, and its record of those that are put.

    Args:
        state: with the record of the nodes that it knows then. learned: the record before.
        y: [N] class in the task of the graph's nodes.
    """
    keys = swap.there.keys[swap.before.ids]
    taken, y_taken = _by_class(swap.taken, lambda at: learned.label[learned.places(keys[at])])
    put, y_put = _by_class(swap.put, lambda at: y[swap.after.ids[at]])
    with (
        swap.before.rows(taken, place.hops) as old,
        swap.after.rows(put, place.hops) as new,
    ):
        record = _seen(place, state.record, swap.after, put, new)
        sums = state.sums.swapped(
            class_sums.Rows(old, y_taken),
            class_sums.Rows(new, y_put),
            place.shared.lift,
            place.config.bank.router,
        )
    return replace(state, sums=sums, record=record)


def _by_class(wanted: Array, classes_of: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the places of the wanted nodes, class after class, and their classes.

    Args:
        wanted: [n] bool. classes_of: what returns the classes of some places.
    """
    at = np.flatnonzero(wanted)
    y = classes_of(at)
    order = np.argsort(y, kind="stable")
    return at[order], y[order]


def _near(place: Place, record: NodeRecord, change: Change, after: PartRows, name: str) -> Swap:
    """Return the rows near nodes that come or go, in one graph."""
    before = place.part(change.known)
    newcomers = np.isin(after.ids, change.new)
    touched = np.union1d(
        before.ids[before.near(change.gone, place.reach)],
        after.ids[after.near(newcomers, place.reach)],
    )
    taken, put = np.isin(before.ids, touched), np.isin(after.ids, touched)
    require_same(place, record, before, taken | change.whole, name)
    return Swap(place, before, taken, after, put)


def _edited(place: Place, earlier: Place, record: NodeRecord, after: PartRows, name: str) -> Swap:
    """Return the rows that are others now than in an earlier graph."""
    trained = {key.tobytes() for key in record.key[record.part == node_record.TRAIN]}
    ids = [row for row, key in enumerate(earlier.keys) if key.tobytes() in trained]
    if len(ids) < len(trained):
        raise TaamctlError(
            f"{earlier.source.graph.name} lacks {len(trained) - len(ids):,} of the nodes that "
            f"{name} was learned from",
            "give the whole graph as it was before",
        )
    before = earlier.part(np.array(ids, np.int64))
    known = np.array([key.tobytes() in trained for key in place.keys[after.ids]], bool)
    other = known.copy()
    other[known] = _others(place, record, after, known)
    moved = {key.tobytes() for key in place.keys[after.ids[other]]}
    taken = np.array([key.tobytes() in moved for key in earlier.keys[before.ids]], bool)
    require_same(earlier, record, before, taken, name)
    return Swap(earlier, before, taken, after, other | ~known)


def without(record: NodeRecord, keys: Array) -> NodeRecord:
    """Return a record without the nodes of some keys, [K, 16]."""
    kept = np.ones(len(record.key), bool)
    kept[record.places(keys)] = False
    return record.take(kept)


def _seen(place: Place, record: NodeRecord, part: PartRows, put: Array, hops: Hops) -> NodeRecord:
    """Return the record with the checks and links of some nodes as a part has them.

    Args:
        put: [K] places of these nodes in the part. hops: their rows.
    """
    at = record.places(place.keys[part.ids[put]])
    check, links = record.check.copy(), record.links.copy()
    check[at] = _checks(place, hops, len(put))
    links[at] = part.links[put]
    return replace(record, check=check, links=links)


def require_same(
    place: Place, record: NodeRecord, part: PartRows, wanted: Array, name: str
) -> None:
    """Refuse rows that are not those that were learned.

    Args:
        wanted: [n] bool, which nodes of the part.
    """
    other = _others(place, record, part, wanted)
    if other.any():
        raise TaamctlError(
            f"{int(other.sum()):,} nodes of {name} have other features or edges in "
            f"{place.source.graph.name} than when they were learned",
            "give these nodes with the features and all the edges that they were learned with, "
            "and their neighbours too; where they changed: taamctl bank update --before, with the "
            "graph as it was",
        )


def _others(place: Place, record: NodeRecord, part: PartRows, wanted: Array) -> Array:
    """Return which of the wanted nodes have another row than the one that was learned, [K] bool."""
    at = record.places(place.keys[part.ids[wanted]])
    with part.rows(np.flatnonzero(wanted), place.hops) as hops:
        found = _checks(place, hops, len(at))
    apart = np.abs(found - record.check[at]).max(1, initial=0.0)
    return np.asarray((apart > node_record.SAME) | (part.links[wanted] != record.links[at]))


def _checks(place: Place, hops: Hops, count: int) -> Array:
    """Return the numbers that tell some rows, [K, 5] float64."""
    found = np.zeros((count, node_record.CHECKS))
    for low in range(0, count, CHECKED):
        block = {j: x[low : low + CHECKED] for j, x in hops.items()}
        found[low : low + CHECKED] = node_record.checks_of(block, place.salt)
    return found


def _with_hop_sum(
    place: Place, state: ClassState, change: Change, after: PartRows, newcomers: Array
) -> tuple[ClassState, bool]:
    """Return a task with the sum of its hop features, and whether it is that of all its nodes."""
    last = place.config.precompute.max_hop
    count = int(state.sums.nodes.sum())
    if change.whole:
        return replace(state, hop_sum=after.hop_sum(last), hop_nodes=count), True
    linked = after.near(newcomers, 1).sum() > newcomers.sum()
    if change.gone.any() or linked or not state.hop_nodes:
        return state, False
    more = place.part(np.sort(change.new)).hop_sum(last)
    nodes = state.hop_nodes + len(change.new)
    return replace(state, hop_sum=state.hop_sum + more, hop_nodes=nodes), nodes == count
