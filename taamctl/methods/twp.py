"""TWP: topology-aware weight preservation, importances from the loss and from attention over the
training graph's edges.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.penalty import PenalisedMethod, gradients
from taamctl.learning.kernels import loop
from taamctl.models.net_input import NetInput
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class Params:
    """TWP's own parameters."""

    profile: str = param(
        "release: with the three faults of the public code; text: without them",
        choices=("release", "text"),
    )
    strength_loss: float = param("weight of the loss importances, lambda_l", ge=0)
    strength_topology: float = param("weight of the topology importances, lambda_t", ge=0)
    beta: float = param("weight of |grad L_new|_1; without effect under release", ge=0)


class Method(PenalisedMethod):
    """CE + sum_i sum_p (lambda_l I_loss + lambda_t I_topo)_ip (theta_p - theta*_ip)^2 + beta |grad
    CE|_1.

    I_loss is the squared gradient of the task's cross-entropy, I_topo that of |e|_2, where e is the
    softmax over a node's incoming edges u -> v of LeakyReLU_0.2(z_u . tanh(z_v)) and z are the
    logits of all classes: an SGC has no attention of its own. release keeps what the public code
    does: the beta term has no gradient, the cross-entropy counts twice, and the topology gradient
    is added to the loss gradient before squaring. Source: Liu, Yang and Wang (2021) and its code.
    """

    facts = Facts(
        title="TWP", family="regularisation", source="Liu, Yang and Wang (2021)", needs=("edges",)
    )
    params: Params

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return cross-entropy, penalty and, under text, the gradient's norm."""
        new = self.cross_entropy(data.h, data.y)

        def objective(rows: loop.Rows) -> torch.Tensor:
            value = new(rows)
            weights = self.net.parameters()
            if self.params.profile == "release":
                return 2 * value + self.pull(weights)
            norm = torch.zeros((), device=self.device)
            if self.params.beta:
                norm = sum((g.abs().sum() for g in gradients(value, weights, graph=True)), norm)
            return value + self.pull(weights) + self.params.beta * norm

        return objective, len(data.y)

    def end(self, data: TaskData) -> None:
        """Add the task's importances."""
        weights = self.net.parameters()
        loss = gradients(self.cross_entropy(data.h, data.y)(loop.ALL), weights)
        topology = gradients(self.attention(data).norm(), weights)
        if self.params.profile == "release":
            topology = [a + b for a, b in zip(loss, topology, strict=True)]
        importances = [
            self.params.strength_loss * a**2 + self.params.strength_topology * b**2
            for a, b in zip(loss, topology, strict=True)
        ]
        self.pull.add(importances, weights)

    def attention(self, data: TaskData) -> torch.Tensor:
        """Return [E] attention of every edge of the training graph, softmaxed over the edges
        that a node receives.
        """
        ends = group_graph.in_edges(data.extras)
        receiver, sender = (torch.from_numpy(a).to(self.device) for a in ends)
        z = self.net.logits(NetInput.of(data.h), self.info.num_classes)
        score = functional.leaky_relu((z[sender] * torch.tanh(z)[receiver]).sum(1), 0.2)
        n = len(data.y)
        lowest = torch.full((n,), float("-inf"), device=self.device)
        highest = lowest.scatter_reduce(0, receiver, score.detach(), "amax")
        e = (score - highest[receiver]).exp()
        return e / torch.zeros(n, device=self.device).index_add(0, receiver, e)[receiver]
