"""Joint SAGE: two layers of mean aggregation, trained on all tasks' data together.

An upper reference that keeps raw features and those of neighbours apart.
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
from taamctl.learning.families.jointly import Logits
from taamctl.learning.families.strong_reference import StrongParams, StrongReference
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
class Params(StrongParams):
    """What is dropped."""

    drop_edge: float = param("share of the edges left out, others in every step", ge=0, lt=1)

    def net_width(self, features: int) -> int:
        """Return the inputs of the net: own features and means."""
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

    def hidden(
        self, x: NetInput, mean: BothWays, own: torch.Tensor, others: torch.Tensor
    ) -> torch.Tensor:
        """Return z, [N, 256], by the weights `own` and `others`, [256, F]. Products come before
        means, which gives the same and takes narrower sums.
        """
        return functional.relu(times_weight(x, own) + mean.times(times_weight(x, others)))

    def outputs(self, z: torch.Tensor, mean: BothWays, seen: int) -> torch.Tensor:
        """Return [N, seen] logits of z [N, 256]."""
        others = mean.times(functional.linear(z, self.mean2[:seen]))
        return functional.linear(z, self.own2[:seen]) + others

    def logits(self, x: NetInput, mean: BothWays, seen: int) -> torch.Tensor:
        """Return [N, seen] logits of all nodes of a graph."""
        return self.outputs(self.hidden(x, mean, self.own1, self.mean1), mean, seen)

    def dropped_logits(self, x: NetInput, mean: BothWays, seen: int, drop: Dropout) -> torch.Tensor:
        """Return [N, seen] logits in a training step: columns are dropped for a node and for its
        neighbours alike.
        """
        own, others = drop.weight(torch.stack([self.own1, self.mean1]))
        return self.outputs(drop.hidden(self.hidden(x, mean, own, others)), mean, seen)


def neighbour_mean(edges: csr_matrix) -> csr_matrix:
    """Return M of edges with self-loops, [N, N] float64: M x is the mean of x over a node's
    neighbours without itself, and 0 where it has none.
    """
    import scipy.sparse as sp

    others = (edges - sp.diags(edges.diagonal())).tocsr()
    others.eliminate_zeros()
    count = np.maximum(np.asarray(others.sum(1)).ravel(), 1.0)
    return (sp.diags(1 / count) @ others).tocsr()


class Method(StrongReference[SageNet]):
    """A node's own features and the mean of its neighbours', twice; raw rows scaled to length 1;
    in every step other edges are left out.

    Trained with edges inside tasks alone, as all here. A step goes over the whole graph:
    `train.node_batch` bounds the rows of the loss. Source: GraphSAGE (Hamilton et al., 2017),
    DropEdge (Rong et al., 2020); column dropout and averaged weights are ours.
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
        drop = self.dropout(last)
        generator = torch_generator(self.seed, "edges", last)

        def logits(rows: slice | torch.Tensor) -> torch.Tensor:
            kept = drop_edges(edges, self.params.drop_edge, generator)
            return self.net.dropped_logits(x, self._mean(kept), self.seen, drop)[rows]

        return logits

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen."""
        mean = self._mean(group_graph.adjacency(query.extras))
        return self.net.logits(NetInput.of(self._raw(query)), mean, self.seen)

    def _raw(self, group: TaskData | QueryGraph) -> torch.Tensor:
        rows = torch.arange(len(group.h))
        x = group_graph.raw_rows(group.extras, rows, self.info.num_features)
        return functional.normalize(x.to(self.device), dim=1)

    def _mean(self, edges: csr_matrix) -> BothWays:
        return BothWays.of(neighbour_mean(edges), self.device)
