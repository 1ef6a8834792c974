"""Joint SIGN: one net over several hops side by side, trained on all tasks' data together.

An upper reference that keeps raw features and those of neighbours apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import QueryGraph, TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.jointly import Logits
from taamctl.learning.families.strong_reference import StrongParams, StrongReference
from taamctl.models.backbones import HIDDEN
from taamctl.models.dropout import Dropout
from taamctl.models.initialise import linear
from taamctl.models.net_input import NetInput, times_weight
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class Params(StrongParams):
    """How far the net reads, and what is dropped."""

    hops: int = param("hops 0 to this one are read side by side", ge=0)

    def net_width(self, features: int) -> int:
        """Return the inputs of the net: a layer per hop, and the hidden layer."""
        return (self.hops + 1) * (features + HIDDEN)


@dataclass
class SignNet:
    """f = W3 ReLU(W2 z), z the ReLU(W1_j x_j) of all hops side by side; no bias.

    Attributes:
        first: [J, 256, F], a layer per hop. second: [256, 256 J]. last: [C, 256].
    """

    first: torch.Tensor
    second: torch.Tensor
    last: torch.Tensor

    def parameters(self) -> list[torch.Tensor]:
        """Return the trainable tensors."""
        return [self.first, self.second, self.last]

    def hidden(self, hops: Sequence[torch.Tensor | NetInput], first: torch.Tensor) -> torch.Tensor:
        """Return z, [N, 256 J], of J hops [N, F] and the layers [J, 256, F] that read them."""
        each = [times_weight(x, w) for x, w in zip(hops, first, strict=True)]
        return functional.relu(torch.cat(each, 1))

    def logits(self, hops: Sequence[torch.Tensor], seen: int) -> torch.Tensor:
        """Return [N, seen] logits."""
        z = functional.linear(self.hidden(hops, self.first), self.second)
        return functional.linear(functional.relu(z), self.last[:seen])

    def dropped_logits(
        self, hops: Sequence[torch.Tensor | NetInput], seen: int, drop: Dropout
    ) -> torch.Tensor:
        """Return [N, seen] logits in a training step: columns are dropped of all hops alike."""
        z = drop.hidden(self.hidden(hops, drop.weight(self.first)))
        z = drop.hidden(functional.relu(functional.linear(z, self.second)))
        return functional.linear(z, self.last[:seen])


class Method(StrongReference[SignNet]):
    """X, S X, S^2 X, rows scaled to length 1, through a layer each, side by side, and one hidden
    layer.

    Trained with edges inside tasks alone, as all here. Source: SIGN (Rossi et al., 2020), its hops
    made by the S of all methods here; column dropout and averaged weights are ours.
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

    def draw(self, stage: int) -> SignNet:
        """Draw the net of a stage."""
        generator = torch_generator(self.seed, "net", stage)
        count = self.params.hops + 1
        layers = [linear(HIDDEN, self.info.num_features, generator) for _ in range(count)]
        drawn = (
            torch.stack(layers),
            linear(HIDDEN, HIDDEN * count, generator),
            linear(self.info.num_classes, HIDDEN, generator),
        )
        return SignNet(*(w.to(self.device).requires_grad_() for w in drawn))

    def training_logits(self, tasks: Sequence[TaskData]) -> Logits:
        """Return rows -> the net's logits [B, seen], with dropout."""
        groups = [self._hops(t) for t in tasks]
        inputs = [NetInput.of(torch.cat(same)) for same in zip(*groups, strict=True)]
        drop = self.dropout(tasks[-1].task.index)
        return lambda rows: self.net.dropped_logits([x[rows] for x in inputs], self.seen, drop)

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen."""
        return self.net.logits(self._hops(query), self.seen)

    def _hops(self, group: TaskData | QueryGraph) -> list[torch.Tensor]:
        """Return X, S X, ..., [N, F] each, rows of length 1."""
        wanted = range(self.params.hops + 1)
        found = group_graph.hop_rows(group.h, group.extras, wanted, self.info.hops)
        return [functional.normalize(found[j].to(self.device), dim=1) for j in wanted]
