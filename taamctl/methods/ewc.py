"""EWC: elastic weight consolidation, importances from the Fisher information."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.penalty import PenalisedMethod, gradients, squares
from taamctl.learning.kernels import loop
from taamctl.models.backbones import TrainableNet


@dataclass(frozen=True)
class Params:
    """EWC's own parameters."""

    strength: float = param("weight of the penalty, lambda", ge=0)
    fisher: str = param(
        "batch: squared gradient of the mean cross-entropy (CGLB); sample: mean squared gradient "
        "of a node's",
        choices=("batch", "sample"),
    )


class Method(PenalisedMethod):
    """CE + lambda sum_i sum_p F_ip (theta_p - theta*_ip)^2 over all earlier tasks i, kept as two
    sums whatever their number.

    Source: Kirkpatrick et al. (2017), as in the CGLB benchmark (2022).
    """

    facts = Facts(
        title="EWC", family="regularisation", source="Kirkpatrick et al. (2017); CGLB (2022)"
    )
    params: Params

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return cross-entropy plus penalty."""
        new = self.cross_entropy(data.h, data.y)

        def objective(rows: loop.Rows) -> torch.Tensor:
            return new(rows) + self.params.strength * self.pull(self.net.parameters())

        return objective, len(data.y)

    def end(self, data: TaskData) -> None:
        """Add the task's Fisher information."""
        weights = self.net.parameters()
        if self.params.fisher == "batch":
            fisher = squares(gradients(self.cross_entropy(data.h, data.y)(loop.ALL), weights))
        else:
            fisher = self._per_sample(data)
        self.pull.add(fisher, weights)

    def _per_sample(self, data: TaskData) -> list[torch.Tensor]:
        """Return mean_v (d CE_v / d theta)^2: (delta x^T)^2 factors into delta^2 (x^2)^T, so no
        gradient per node is needed.
        """
        assert isinstance(self.net, TrainableNet)
        with torch.no_grad():
            a = functional.relu(functional.linear(data.h, self.net.w1))
            w2 = self.net.w2[: self.seen]
            chance = torch.softmax(functional.linear(a, w2), dim=1)
            delta = chance - functional.one_hot(data.y, self.seen)
            inner = (delta @ w2) * (a > 0)
            out = torch.zeros_like(self.net.w2)
            out[: self.seen] = (delta**2).T @ a**2 / len(data.y)
            return [(inner**2).T @ data.h**2 / len(data.y), out]
