"""Which nodes of a graph a bank has seen, and as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.bank import node_record
from taamctl.bank.node_record import KeyIndex, NodeRecord
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array

if TYPE_CHECKING:
    from taamctl.bank.manifest import Manifest
    from taamctl.bank.place import Place

SHOWN = 60  # letters of a name in a message


@dataclass(frozen=True)
class KnownNodes:
    """What the records of all tasks say of the nodes of a graph.

    Attributes:
        task: [N] position of the task that knows the node; -1: none.
        label: [N] its class in the task. part: [N] 0 = train, 1 = val; -1: none.
    """

    task: Array
    label: Array
    part: Array

    def of(self, position: int, part: int) -> Array:
        """Return the nodes that are in one part of a task, ascending."""
        return np.flatnonzero((self.task == position) & (self.part == part))


def known_nodes(index: KeyIndex, nodes: int, records: Sequence[NodeRecord]) -> KnownNodes:
    """Look the nodes of a graph up in the records of all tasks.

    Args:
        index: of the graph's nodes. nodes: how many there are.
    """
    task, label, part = (np.full(nodes, -1, np.int64) for _ in range(3))
    for position, record in enumerate(records):
        found = index.rows(record.key)
        there = found >= 0
        rows = found[there]
        task[rows] = position
        label[rows], part[rows] = record.label[there], record.part[there]
    return KnownNodes(task, label, part)


def require_names(names: Sequence[str], graph: str) -> None:
    """Refuse a graph in which two nodes have one name."""
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TaamctlError(
            f"{count} nodes of {graph} have the name {name[:SHOWN]!r}",
            "give every node a name of its own, in the graph and in its --context",
        )


def require_unknown(place: Place, ids: Array, known: KnownNodes, now: Manifest) -> None:
    """Refuse nodes for a new task that another task knows already.

    Args:
        ids: [n] nodes of the graph.
    """
    names = node_record.names_of(place.source.graph)
    require_names(names, place.source.graph.name)
    taken = ids[known.task[ids] >= 0]
    if len(taken):
        raise TaamctlError(
            f"the bank knows {len(taken):,} nodes of the new classes already, such as "
            f"{names[taken[0]][:SHOWN]!r} in task {now.tasks[known.task[taken[0]]].number}",
            "nodes are told by their names: import graphs with a column of names, each used once",
        )
