"""What a graph changes of a task's exact sums: rows that were learned are taken off, checked
against the record, and rows as they are now are added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from taamctl.bank import node_record
from taamctl.bank.class_state import ClassState
from taamctl.bank.node_record import NodeRecord
from taamctl.bank.part_rows import Hops, PartRows
from taamctl.bank.place import Place
from taamctl.bank.sight import Sight
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.learning.kernels import class_sums

CHECKED = 8192  # rows whose checks are computed at once


@dataclass(frozen=True)
class Change:
    """What becomes of the training nodes of one task.

    Attributes:
        known: [n] nodes of the graph that the task knows, ascending. gone: [n] bool, those to take
            off. new: [k] nodes to add.
        y: [N] class in the task of every node of the graph that is any of these.
        whole: the graph has all training nodes that the task knows.
        sight: what the task's rows see.
    """

    known: Array
    gone: Array
    new: Array
    y: Array
    whole: bool
    sight: Sight

    @property
    def after(self) -> Array:
        """Return the nodes that the task knows then, ascending."""
        return np.sort(np.concatenate([self.known[~self.gone], self.new]))

    @property
    def moves(self) -> bool:
        """Tell whether the task gains or loses nodes of its own."""
        return len(self.new) > 0 or bool(self.gone.any())


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


@dataclass(frozen=True)
class Earlier:
    """A graph as it was learned: with it, and what rows saw in it."""

    place: Place
    part: PartRows


def first_state(place: Place, ids: Array, y: Array, classes: int, part: PartRows) -> ClassState:
    """Return the exact part of a new task, from its training nodes.

    Args:
        ids: [n] nodes, ascending. y: [n] their classes. part: what their rows see.
    """
    by_class = np.argsort(y, kind="stable")
    at = np.searchsorted(part.ids, ids)[by_class]
    record = place.fresh(ids, y, node_record.TRAIN)
    params = place.config.bank.router
    with part.rows(at, place.hops) as hops:
        record = _seen(place, record, part, at, hops)
        rows = class_sums.Rows(hops, y[by_class])
        sums = class_sums.collect(rows, classes, place.shared.lift, params)
    hop_sum = _own(place, part, ids).hop_sum(place.config.precompute.max_hop)
    return ClassState(sums, record, hop_sum, len(ids))


def _own(place: Place, part: PartRows, ids: Array) -> PartRows:
    """Return the subgraph of a task's own nodes, which its prototype is of whatever its rows see.

    Args:
        part: that has them all.
    """
    if len(part.ids) == len(ids):
        return part
    return place.part(ids)


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
    place: Place, state: ClassState, change: Change, name: str, earlier: Earlier | None = None
) -> Changed:
    """Return a task's exact part after a change of its training nodes.

    Args:
        name: of the task, for messages.
        earlier: the graph as it was learned, where known nodes have other features or edges now;
            None: they have not. The change has to be of all nodes of the task then.

    Raises:
        TaamctlError: a row that would be taken off is not the one that was learned.
    """
    if earlier is None:
        swap = _near(place, state.record, change, name)
    else:
        swap = _edited(place, earlier, state.record, change, name)
    record = without(state.record, place.keys[change.known[change.gone]])
    record = record.joined(place.fresh(change.new, change.y[change.new], node_record.TRAIN))
    made = _swapped(place, replace(state, record=record), state.record, swap, change.y)
    made, exact = _with_hop_sum(place, made, change)
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


def _near(place: Place, record: NodeRecord, change: Change, name: str) -> Swap:
    """Return the task's rows near nodes that come or go, in one graph."""
    before, after = change.sight.before, change.sight.after
    gone, new = ~np.isin(before.ids, after.ids), ~np.isin(after.ids, before.ids)
    touched = np.union1d(
        before.ids[before.near(gone, place.reach)],
        after.ids[after.near(new, place.reach)],
    )
    known = np.isin(before.ids, change.known)
    taken = known & np.isin(before.ids, touched)
    put = np.isin(after.ids, change.after) & np.isin(after.ids, touched)
    require_same(place, record, before, taken | (known & change.whole), name)
    return Swap(place, before, taken, after, put)


def _edited(place: Place, earlier: Earlier, record: NodeRecord, change: Change, name: str) -> Swap:
    """Return the task's rows that are others now than in an earlier graph."""
    before, after, there = earlier.part, change.sight.after, earlier.place
    trained = {key.tobytes() for key in record.key[record.part == node_record.TRAIN]}
    known_then = np.array([key.tobytes() in trained for key in there.keys[before.ids]], bool)
    if known_then.sum() < len(trained):
        raise TaamctlError(
            f"{there.source.graph.name} lacks {len(trained) - int(known_then.sum()):,} of the "
            f"nodes that {name} was learned from",
            "give the whole graph as it was before",
        )
    known = np.array([key.tobytes() in trained for key in place.keys[after.ids]], bool)
    other = known.copy()
    other[known] = _others(place, record, after, known)
    moved = {key.tobytes() for key in place.keys[after.ids[other]]}
    taken = np.array([key.tobytes() in moved for key in there.keys[before.ids]], bool)
    require_same(there, record, before, taken, name)
    return Swap(there, before, taken, after, other | np.isin(after.ids, change.new))


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


def _with_hop_sum(place: Place, state: ClassState, change: Change) -> tuple[ClassState, bool]:
    """Return a task with the sum of its hop features, and whether it is that of all its nodes."""
    last = place.config.precompute.max_hop
    count = int(state.sums.nodes.sum())
    if not (change.whole or change.moves):
        return state, state.hop_nodes == count
    own = _own(place, change.sight.after, change.after)
    if change.whole:
        return replace(state, hop_sum=own.hop_sum(last), hop_nodes=count), True
    newcomers = np.isin(own.ids, change.new)
    linked = own.near(newcomers, 1).sum() > newcomers.sum()
    if change.gone.any() or linked or not state.hop_nodes:
        return state, False
    more = place.part(np.sort(change.new)).hop_sum(last)
    nodes = state.hop_nodes + len(change.new)
    return replace(state, hop_sum=state.hop_sum + more, hop_nodes=nodes), nodes == count
