"""Joint SIGN: one net over several hops side by side, trained on all tasks' data together.

An upper reference that keeps raw features and those of neighbours apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from taamctl.core.late_torch import functional, torch
from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.strong_reference import StrongParams, StrongReference
from taamctl.learning.kernels import loop
from taamctl.models.backbones import TrainableNet
from taamctl.models.dropout import Dropout
from taamctl.models.net_input import NetInput, times_weight
from taamctl.propagation import group_graph
from taamctl.propagation.backends import rounded_step
from taamctl.propagation.powers import powers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Params(StrongParams):
    """How far the net reads, and what is dropped."""

    hops: int = param("hops 0 to this one are read side by side", ge=0)

    def net_width(self, features: int) -> int:
        """Return the inputs of the net: the features of every hop."""
        return (self.hops + 1) * features


class Method(StrongReference[TrainableNet, NetInput]):
    """The net of Joint over X, S X and S^2 X side by side, the rows of each scaled to length 1.

    Trained with edges inside tasks alone, as all here. Source: SIGN (Rossi et al., 2020) with one
    hidden layer, its hops made by the S of all methods here; thinned edges are ours.
    """

    facts = Facts(
        title="Joint SIGN",
        family="strong reference",
        source="SIGN (2020)",
        sees="all",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
    )
    params: Params

    def draw(self, stage: int) -> TrainableNet:
        """Draw the net of a stage."""
        info = self.info
        width = self.params.net_width(info.num_features)
        return TrainableNet.draw(width, info.num_classes, self.seed, self.device, stage=stage)

    def read(self, x: torch.Tensor, edges: csr_matrix) -> NetInput:
        """Return the hops side by side, [N, J F], rows of each of length 1."""
        step = rounded_step(group_graph.normalised(edges))
        found = powers(step, x.numpy(), self.params.hops)
        hops = [functional.normalize(torch.from_numpy(z), dim=1) for z in found]
        return NetInput.of(torch.cat(hops, 1).to(self.device))

    def answers(self, read: NetInput, rows: loop.Rows, drop: Dropout) -> torch.Tensor:
        """Return logits [B, seen]; columns are dropped of all hops alike."""
        w1, w2 = self.net.parameters()
        by_hop = w1.view(len(w1), -1, self.info.num_features)
        hidden = functional.relu(times_weight(read[rows], drop.weight(by_hop).view_as(w1)))
        return functional.linear(drop.hidden(hidden), w2[: self.seen])
