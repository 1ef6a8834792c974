"""The validation nodes that a bank keeps of a task: their features, classes and edges. From them it
knows how right and how sure it is, whenever a class comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.config import Config
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.learning.kernels.ridge import Lift
from taamctl.propagation.operator import Operator, build
from taamctl.propagation.powers import hop_matrices
from taamctl.propagation.room import StoredRows
from taamctl.store import artefacts


@dataclass(frozen=True)
class KeptVal:
    """Some validation nodes of a task.

    Attributes:
        x: [V, F] float32, features as the bank normalises them. label: [V] int64, classes of the
            task from 0.
        edges: [2, E] int64, receiver and sender of every edge among them.
    """

    x: Array
    label: Array
    edges: Array

    def adjacency(self, copies: int = 1) -> CSR:
        """Return the edges of some copies of the nodes beside each other."""
        import scipy.sparse as sp

        n = len(self.label)
        one = sp.csr_matrix((np.ones(self.edges.shape[1], np.int8), tuple(self.edges)), (n, n))
        return from_scipy(sp.block_diag([one] * copies, "csr"), binary=True)

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield the arrays of a task's file."""
        yield "val/x", self.x
        yield "val/class", self.label
        yield "val/edges", self.edges


def read_val(file: artefacts.Artefact) -> KeptVal | None:
    """Read the kept nodes of a task; None where there are none."""
    if not file.has("val/x"):
        return None
    return KeptVal(file.read("val/x"), file.read("val/class"), file.read("val/edges"))


def drawn(x: StoredRows, operator: Operator, label: Array, most: int) -> KeptVal | None:
    """Return at most so many nodes of a task, drawn at random; None where there is none.

    Args:
        x: [N, F] features; operator: over the same nodes, of which the first V are the task's.
        label: [V] their classes.
    """
    if not len(label) or not most:
        return None
    order = numpy_generator(0, "bank/val_rows").permutation(len(label))
    chosen = np.sort(order[:most])
    among = to_scipy(operator.adjacency, np.int8)[chosen][:, chosen].tocoo()
    apart = among.row != among.col
    edges = np.stack([among.row[apart], among.col[apart]]).astype(np.int64)
    rows = x[torch.from_numpy(chosen)].numpy()
    return KeptVal(rows, label[chosen].astype(np.int64), edges)


def looked_at(
    x: Array, adjacency: CSR, lift: Lift, config: Config
) -> tuple[torch.Tensor, Operator]:
    """Return the router's profiles of nodes, [N, P], and the operator of their graph."""
    operator = build(adjacency, config.precompute.self_loops)
    weights = config.bank.router.hops
    found = hop_matrices(operator, x, set(weights), config.precompute.backend)
    hops = {j: torch.from_numpy(found[j]) for j in weights}
    return lift.profile(hops, weights), operator
