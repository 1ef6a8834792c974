"""A graph with a validation node in the place of every node: of the class that was answered, with
the graph's own edges. It tells what known nodes look like with such edges, many or few, inside
classes or between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taamctl.bank.honest_fit import exchanged
from taamctl.bank.task_file import TaskState
from taamctl.core.outside import Outside
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import from_scipy, to_scipy

ENOUGH = 2000  # stand-ins: a graph of fewer nodes is taken several times


class StandIns:
    """The graph, as something to be asked about.

    Args:
        kept: the tasks; some keep validation nodes. firsts: the class of the bank that is each
            task's first.
        adjacency: [N, N] edges as the bank uses them. answered: [N] class of every node.
    """

    def __init__(
        self, kept: Sequence[TaskState], firsts: Sequence[int], adjacency: CSR, answered: Array
    ) -> None:
        import scipy.sparse as sp

        order = sorted(range(len(kept)), key=lambda t: kept[t].classes)
        pairs = [(firsts[t], val) for t in order if (val := kept[t].val) is not None]
        self._x = np.concatenate([val.x for _, val in pairs])
        label = np.concatenate([first + val.label for first, val in pairs])
        copies = max(1, -(-ENOUGH // max(1, len(answered))))
        draw = numpy_generator(0, "bank/stand_ins_asked")
        self._places = exchanged(label, np.tile(answered, copies), draw)
        edges = to_scipy(adjacency, np.int8)
        self._adjacency = from_scipy(sp.block_diag([edges] * copies, "csr"), binary=True)
        self.num_nodes = self.answered = len(self._places)
        self.copy = np.repeat(np.arange(copies), len(answered))
        self.num_features = self._x.shape[1]
        self.directed = True  # the edges are as they are used
        self.before_names = False
        self.feature_names: tuple[str, ...] = ()

    def adjacency(self) -> CSR:
        """Return the edges, [N, N] binary."""
        return self._adjacency

    def rows(self, low: int, high: int) -> Array:
        """Return the features of nodes [low, high), as the bank normalises them."""
        rows: Array = self._x[self._places[low:high]]
        return rows

    def names(self) -> Array | None:
        """Return None: they have no names."""
        return None

    def outside(self) -> Outside | None:
        """Return None: there is no other graph."""
        return None
