"""What a graph changes of a task's exact sums: rows that were learned are taken off, checked
against the record, and rows as they are now are added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from taamctl.bank import node_record
from taamctl.bank.class_state import ClassState
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.bank.node_record import NodeRecord
from taamctl.bank.part_rows import PartRows
from taamctl.bank.task_file import Shared
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm
from taamctl.learning.kernels import class_sums
from taamctl.learning.kernels.class_sums import ClassSums

Hops = dict[int, torch.Tensor]


@dataclass(frozen=True)
class Place:
    """A graph, and what a bank makes rows of it with.

    Attributes:
        adjacency: its edges as the bank uses them. salt: the bank's. keys: [N, 16] of its nodes.
    """

    source: Source
    adjacency: CSR
    config: Config
    shared: Shared
    norm: Norm
    salt: Array
    keys: Array

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
        return PartRows(self.source, self.adjacency, ids, loops, self.norm)

    def sums(self, hops: Hops, y: Array, classes: int) -> ClassSums:
        """Return the sums over some rows."""
        params = self.config.bank.router
        return class_sums.collect(hops, y, classes, self.shared.lift, params)

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
    part = place.part(ids)
    every = np.ones(len(ids), bool)
    hops = part.rows(every, place.hops)
    record = _seen(place, place.fresh(ids, y, node_record.TRAIN), part, every, hops)
    hop_sum = part.hop_sum(place.config.precompute.max_hop)
    return ClassState(place.sums(hops, y, classes), record, hop_sum, len(ids))


def applied(place: Place, state: ClassState, change: Change, name: str) -> Changed:
    """Return a task's exact part after a change of its training nodes.

    Args:
        name: of the task, for messages.

    Raises:
        TaamctlError: a row that would be taken off is not the one that was learned.
    """
    before, after = place.part(change.known), place.part(change.after)
    steps = place.reach
    newcomers = np.isin(after.ids, change.new)
    touched = np.union1d(
        before.ids[before.near(change.gone, steps)], after.ids[after.near(newcomers, steps)]
    )
    taken, put = np.isin(before.ids, touched), np.isin(after.ids, touched)
    _require_same(place, state.record, before, taken | change.whole, name)
    sums, classes = state.sums, len(state.sums.nodes)
    views = len(class_sums.views_of(place.config.bank.router))
    class_sums.require_room(sums.nodes + len(change.new), views)
    old, now = before.rows(taken, place.hops), after.rows(put, place.hops)
    sums = sums.plus(place.sums(old, change.y[before.ids[taken]], classes), -1)
    sums = sums.plus(place.sums(now, change.y[after.ids[put]], classes))
    record = without(state.record, place.keys[change.known[change.gone]])
    record = record.joined(place.fresh(change.new, change.y[change.new], node_record.TRAIN))
    record = _seen(place, record, after, put, now)
    made = replace(state, sums=sums, record=record)
    made, exact = _with_hop_sum(place, made, change, after, newcomers)
    return Changed(made, int((taken & ~change.gone).sum()), exact)


def without(record: NodeRecord, keys: Array) -> NodeRecord:
    """Return a record without the nodes of some keys, [K, 16]."""
    places = record.places()
    kept = np.ones(len(record.key), bool)
    kept[[places[key.tobytes()] for key in keys]] = False
    return record.take(kept)


def _seen(place: Place, record: NodeRecord, part: PartRows, put: Array, hops: Hops) -> NodeRecord:
    """Return the record with the checks and links of some nodes as a part has them.

    Args:
        put: [n] bool, which nodes of the part. hops: their rows.
    """
    places = record.places()
    at = [places[key.tobytes()] for key in place.keys[part.ids[put]]]
    check, links = record.check.copy(), record.links.copy()
    check[at] = node_record.checks_of(hops, place.salt)
    links[at] = part.links[put]
    return replace(record, check=check, links=links)


def _require_same(
    place: Place, record: NodeRecord, part: PartRows, wanted: Array, name: str
) -> None:
    """Refuse rows that are not those that were learned.

    Args:
        wanted: [n] bool, which nodes of the part.
    """
    places = record.places()
    at = [places[key.tobytes()] for key in place.keys[part.ids[wanted]]]
    found = node_record.checks_of(part.rows(wanted, place.hops), place.salt)
    other = np.abs(found - record.check[at]).max(1, initial=0.0) > node_record.SAME
    other |= part.links[wanted] != record.links[at]
    if other.any():
        raise TaamctlError(
            f"{int(other.sum()):,} nodes of {name} have other features or edges in "
            f"{place.source.graph.name} than when they were learned",
            "give these nodes with the features and all the edges that they were learned with, "
            "and their neighbours too",
        )


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
