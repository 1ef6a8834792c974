"""The graph as it is known after a snapshot: the nodes that have arrived, and the edges between
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import take_rows
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.operator import build
from taamctl.propagation.powers import hop_matrices
from taamctl.stream.induce import induce


@dataclass(frozen=True)
class Rows:
    """Some nodes as a model sees them: no label, no time.

    Attributes:
        hops: j -> S^j X, [n, F] float32.
        deg: [n] float32, in-degrees with the self-loop.
    """

    hops: Mapping[int, torch.Tensor]
    deg: torch.Tensor

    def __len__(self) -> int:
        return len(self.deg)

    def some(self, at: Array) -> Rows:
        """Return some of them, by their places."""
        where = torch.from_numpy(at)
        return Rows({j: x[where] for j, x in self.hops.items()}, self.deg[where])


@dataclass(frozen=True)
class KnownGraph:
    """What is known at a time.

    Attributes:
        nodes: [n] int64 node ids, ascending. rows: of these nodes, in their order.
    """

    nodes: Array
    rows: Rows

    def of(self, nodes: Array) -> Rows:
        """Return the rows of some known nodes, by their ids."""
        return self.rows.some(np.searchsorted(self.nodes, nodes))


@dataclass(frozen=True)
class WholeGraph:
    """The graph with its whole future: what a replay reveals step by step.

    Attributes:
        edges: [N, N] binary; row v holds the nodes that v receives from.
        features: [N, F] float32, normalised.
    """

    edges: CSR
    features: Array | CSR

    def known(self, nodes: Array, wanted: Iterable[int], params: PrecomputeParams) -> KnownGraph:
        """Return the graph of some nodes alone: an edge is there where both its ends are.

        Args:
            nodes: ascending. wanted: the hops that are looked at.
        """
        edges = induce(self.edges, nodes, np.array([0, len(nodes)]))
        operator = build(edges, params.self_loops)
        hops = hop_matrices(operator, take_rows(self.features, nodes), wanted, params.backend)
        deg = torch.from_numpy(operator.degree.astype(np.float32))
        return KnownGraph(nodes, Rows({j: torch.from_numpy(x) for j, x in hops.items()}, deg))
