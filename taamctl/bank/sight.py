"""Between which nodes edges count in the rows of a bank's exact sums: those of one task, or those
of all tasks (`bank.edges`).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taamctl.bank.known_nodes import KnownNodes
from taamctl.bank.node_record import TRAIN
from taamctl.bank.part_rows import PartRows
from taamctl.bank.place import Place
from taamctl.core.types import Array


@dataclass(frozen=True)
class Sight:
    """The subgraph that the rows of a task see, before a change of the bank and after it."""

    before: PartRows
    after: PartRows


@dataclass(frozen=True)
class Sights:
    """What the rows of every task see when training nodes come or go.

    Attributes:
        known: what the bank knows of the graph's nodes.
        new: [k] nodes to add. task_of: [N] position of the task that they belong to.
        gone: [N] bool, nodes to take off.
        stack: closes what many tasks read.
    """

    place: Place
    known: KnownNodes
    new: Array
    task_of: Array
    gone: Array
    stack: ExitStack

    @property
    def shared(self) -> bool:
        """Tell whether a row sees nodes of other tasks, so that it changes with them."""
        return self.place.config.bank.edges == "all"

    def reaches(self, position: int) -> bool:
        """Tell whether the change can reach rows of a task that it neither adds to nor takes
        from.
        """
        moves = len(self.new) > 0 or bool(self.gone.any())
        return self.shared and moves and len(self.known.of(position, TRAIN)) > 0

    def of(self, position: int) -> Sight:
        """Return what the rows of a task see."""
        if self.shared:
            return self._of_all
        mine = self.known.of(position, TRAIN)
        return self._between(mine, self.new[self.task_of[self.new] == position])

    @cached_property
    def _of_all(self) -> Sight:
        learned = (self.known.task >= 0) & (self.known.part == TRAIN)
        made = self._between(np.flatnonzero(learned), self.new)
        for part in (made.before, made.after):
            part.keep(self.stack)
        return made

    def _between(self, known: Array, new: Array) -> Sight:
        """Return the subgraphs of known nodes, and of those that are left of them and new ones."""
        before = self.place.part(known)
        if not (len(new) or self.gone[known].any()):
            return Sight(before, before)
        after = np.sort(np.concatenate([known[~self.gone[known]], new]))
        return Sight(before, self.place.part(after))
