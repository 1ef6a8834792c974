"""MAS: memory aware synapses, importances from the sensitivity of the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.families.penalty import gradients, numbered, pulled, squares
from taamctl.learning.families.sequential import SequentialMethod, Tensors
from taamctl.learning.kernels import loop
from taamctl.models.backbones import TrainableNet
from taamctl.models.net_input import NetInput


@dataclass(frozen=True)
class Params:
    """MAS's own parameters."""

    strength: float = param("weight of the penalty, lambda", ge=0)
    importance: str = param(
        "batch_sq: squared gradient of the mean squared output (CGLB); per_sample_abs: mean "
        "absolute gradient of a node's squared output norm (the original)",
        choices=("batch_sq", "per_sample_abs"),
    )


class Method(SequentialMethod):
    """CE + lambda sum_p Omega_p (theta_p - theta*_p)^2, theta* the weights after the last task.

    Omega is the mean over tasks, weighted by their nodes, of (d/d theta mean_{v,c} f(h_v)_c^2)^2
    over the classes seen. Source: Aljundi et al. (2018), as in the CGLB benchmark (2022). One
    public code overwrites Omega instead of averaging.
    """

    facts = Facts(title="MAS", family="regularisation", source="Aljundi et al. (2018); CGLB (2022)")
    params: Params

    def setup(self) -> None:
        """Begin without importances."""
        super().setup()
        self._omega = [torch.zeros_like(p, requires_grad=False) for p in self.net.parameters()]
        self._nodes = 0

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return cross-entropy plus penalty."""
        new = self.cross_entropy(data.h, data.y)
        weights = self.net.parameters()
        anchors = [p.detach().clone() for p in weights]

        def objective(rows: loop.Rows) -> torch.Tensor:
            return new(rows) + self.params.strength * pulled(self._omega, weights, anchors)

        return objective, len(data.y)

    def end(self, data: TaskData) -> None:
        """Average the task's importances into Omega."""
        measure = self._batch if self.params.importance == "batch_sq" else self._per_sample
        n = len(data.y)
        before = self._nodes
        self._omega = [
            (o * before + i * n) / (before + n)
            for o, i in zip(self._omega, measure(data.h), strict=True)
        ]
        self._nodes += n

    def _batch(self, h: torch.Tensor) -> list[torch.Tensor]:
        output = (self.net.logits(NetInput.of(h), self.seen) ** 2).mean()
        return squares(gradients(output, self.net.parameters()))

    def _per_sample(self, h: torch.Tensor) -> list[torch.Tensor]:
        """Return mean_v |d |f(h_v)|^2 / d theta|: |delta x^T| factors into |delta| |x|^T, so no
        gradient per node is needed.
        """
        assert isinstance(self.net, TrainableNet)
        with torch.no_grad():
            a = functional.relu(functional.linear(h, self.net.w1))
            f = functional.linear(a, self.net.w2[: self.seen])
            delta = (f @ self.net.w2[: self.seen]) * (a > 0)
            out = torch.zeros_like(self.net.w2)
            out[: self.seen] = 2 * f.abs().T @ a / len(h)
            return [2 * delta.abs().T @ h.abs() / len(h), out]

    def kept(self) -> Tensors:
        """Return Omega and the nodes behind it; the anchors are the stage's own weights."""
        return {**numbered("omega", self._omega), "nodes": torch.tensor(self._nodes)}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install the last stage's importances."""
        self._omega = [states[-1][f"omega/{i}"] for i in range(len(self._omega))]
        self._nodes = int(states[-1]["nodes"])

    def stored(self, class_sizes: Array) -> Stored:
        """Return importances, anchors and a count, which the papers do not count."""
        return Stored(uncounted=2 * self.net_words + 2, net=self.net_words)
