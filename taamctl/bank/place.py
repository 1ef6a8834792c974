"""A graph with what a bank makes rows of it with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from taamctl.bank import node_record
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.bank.node_record import KeyIndex, NodeRecord
from taamctl.bank.part_rows import PartRows
from taamctl.bank.task_file import Shared
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm
from taamctl.propagation.room import Room


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
