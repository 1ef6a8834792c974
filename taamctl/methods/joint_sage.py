"""Joint SAGE: two layers of mean aggregation, trained on all tasks' data together.

A stronger upper reference than Joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import QueryGraph, TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.jointly import FromScratch, JointParams, Logits
from taamctl.learning.kernels.grace import drop_edges
from taamctl.models.backbones import HIDDEN
from taamctl.models.dropout import Dropout
from taamctl.models.initialise import linear
from taamctl.models.net_input import NetInput, times_weight
from taamctl.propagation import group_graph
from taamctl.propagation.stored_entries import BothWays

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Params(JointParams):
    """What is dropped."""

    dropout: float = param("share of the hidden entries dropped in training", ge=0, lt=1)
    drop_edge: float = param("share of the edges left out, others in every step", ge=0, lt=1)

    def net_width(self, features: int) -> int:
        """Return the inputs of the net, in multiples of which an epoch costs."""
        return 2 * features


@dataclass
class SageNet:
    """f = A2 z + B2 M z with z = ReLU(A1 x + B1 M x), M the mean over neighbours; no bias.

    Attributes:
        own1, mean1: [256, F]. own2, mean2: [C, 256].
    """

    own1: torch.Tensor
    mean1: torch.Tensor
    own2: torch.Tensor
    mean2: torch.Tensor

    def parameters(self) -> list[torch.Tensor]:
        """Return the trainable tensors."""
        return [self.own1, self.mean1, self.own2, self.mean2]

    def logits(
        self, x: NetInput, mean: BothWays, seen: int, drop: Dropout | None = None
    ) -> torch.Tensor:
        """Return [N, seen] logits of all nodes of a graph, in training with dropout.

        Products come before means, which gives the same and takes narrower sums.
        """
        z = times_weight(x, self.own1) + mean.times(times_weight(x, self.mean1))
        z = functional.relu(z)
        if drop is not None:
            z = drop(z)
        own = functional.linear(z, self.own2[:seen])
        return own + mean.times(functional.linear(z, self.mean2[:seen]))


def neighbour_mean(edges: csr_matrix) -> csr_matrix:
    """Return M of edges with self-loops, [N, N] float64: M x is the mean of x over a node's
    neighbours without itself, and 0 where it has none.
    """
    import scipy.sparse as sp

    others = (edges - sp.diags(edges.diagonal())).tocsr()
    others.eliminate_zeros()
    count = np.maximum(np.asarray(others.sum(1)).ravel(), 1.0)
    return (sp.diags(1 / count) @ others).tocsr()


class Method(FromScratch[SageNet]):
    """A node's own features and the mean of its neighbours', twice; dropout between; in every
    step other edges are left out; the loss of Joint.

    A task's training part has the edges inside it alone, so edges between tasks are seen in
    queries, never in training: the ceiling of methods under this contract, not of all. A step goes
    over the whole graph, whatever `train.node_batch` says: it bounds the rows of the loss. Source:
    GraphSAGE (Hamilton et al., 2017), DropEdge (Rong et al., 2020).
    """

    facts = Facts(
        title="Joint SAGE",
        family="strong reference",
        source="GraphSAGE (2017)",
        sees="all",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
    )
    params: Params

    def draw(self, stage: int) -> SageNet:
        """Draw the net of a stage."""
        generator = torch_generator(self.seed, "net", stage)
        sizes = [(HIDDEN, self.info.num_features)] * 2 + [(self.info.num_classes, HIDDEN)] * 2
        drawn = [linear(rows, columns, generator) for rows, columns in sizes]
        return SageNet(*(w.to(self.device).requires_grad_() for w in drawn))

    def training_logits(self, tasks: Sequence[TaskData]) -> Logits:
        """Return rows -> the net's logits [B, seen], with dropout and other edges every time."""
        import scipy.sparse as sp

        x = NetInput.of(torch.cat([self._raw(t) for t in tasks]))
        edges = sp.block_diag([group_graph.adjacency(t.extras) for t in tasks], format="csr")
        last = tasks[-1].task.index
        drop = Dropout(self.params.dropout, torch_generator(self.seed, "dropout", last))
        generator = torch_generator(self.seed, "edges", last)

        def logits(rows: slice | torch.Tensor) -> torch.Tensor:
            kept = drop_edges(edges, self.params.drop_edge, generator)
            return self.net.logits(x, self._mean(kept), self.seen, drop)[rows]

        return logits

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen."""
        mean = self._mean(group_graph.adjacency(query.extras))
        return self.net.logits(NetInput.of(self._raw(query)), mean, self.seen)

    def _raw(self, group: TaskData | QueryGraph) -> torch.Tensor:
        rows = torch.arange(len(group.h))
        return group_graph.raw_rows(group.extras, rows, self.info.num_features).to(self.device)

    def _mean(self, edges: csr_matrix) -> BothWays:
        return BothWays.of(neighbour_mean(edges), self.device)
