"""Joint SAGE: two layers of mean aggregation, trained on all tasks' data together.

An upper reference that keeps raw features and those of neighbours apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.strong_reference import StrongParams, StrongReference
from taamctl.learning.kernels import loop
from taamctl.models.backbones import HIDDEN
from taamctl.models.dropout import Dropout
from taamctl.models.initialise import linear
from taamctl.models.net_input import NetInput, times_weight
from taamctl.propagation.stored_entries import BothWays

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Read: TypeAlias = "tuple[NetInput, BothWays]"


@dataclass(frozen=True)
class Params(StrongParams):
    """What is dropped."""

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


def neighbour_mean(edges: csr_matrix) -> csr_matrix:
    """Return M of edges with self-loops, [N, N] float64: M x is the mean of x over a node's
    neighbours without itself, and 0 where it has none.
    """
    import scipy.sparse as sp

    others = (edges - sp.diags(edges.diagonal())).tocsr()
    others.eliminate_zeros()
    count = np.maximum(np.asarray(others.sum(1)).ravel(), 1.0)
    return (sp.diags(1 / count) @ others).tocsr()


class Method(StrongReference[SageNet, Read]):
    """A node's own features and the mean of its neighbours', twice; raw rows scaled to length 1.

    Trained with edges inside tasks alone, as all here. A step goes over the whole graph:
    `train.node_batch` bounds the rows of the loss. Source: GraphSAGE (Hamilton et al., 2017),
    DropEdge (Rong et al., 2020).
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

    def read(self, x: torch.Tensor, edges: csr_matrix) -> Read:
        """Return rows of length 1, and the mean over neighbours."""
        unit = functional.normalize(x.to(self.device), dim=1)
        return NetInput.of(unit), BothWays.of(neighbour_mean(edges), self.device)

    def answers(self, read: Read, rows: loop.Rows, drop: Dropout) -> torch.Tensor:
        """Return logits [B, seen]. Columns are dropped for a node and for its neighbours alike;
        products come before means, which gives the same and takes narrower sums.
        """
        x, mean = read
        own, others = drop.weight(torch.stack([self.net.own1, self.net.mean1]))
        hidden = functional.relu(times_weight(x, own) + mean.times(times_weight(x, others)))
        hidden = drop.hidden(hidden)
        around = mean.times(functional.linear(hidden, self.net.mean2[: self.seen]))
        return (functional.linear(hidden, self.net.own2[: self.seen]) + around)[rows]
