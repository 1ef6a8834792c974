"""Quadratic penalties that pull weights towards where earlier tasks left them (EWC, TWP, MAS)."""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.learning.contract.method import Stored, below
from taamctl.learning.families.sequential import SequentialMethod, Tensors
from taamctl.models.known_gradient import known


class Accumulator:
    """The sum of sum_p F_ip (theta_p - theta*_ip)^2 over tasks i in a form whose size does not grow
    with them.

    With A = sum_i F_i and B = sum_i F_i theta*_i it is sum_p A theta^2 - 2 B theta + const, with
    the same gradient.

    Attributes:
        a, b: A and B, one tensor per weight.
    """

    def __init__(self, like: Sequence[torch.Tensor]) -> None:
        self.a = [torch.zeros_like(p, requires_grad=False) for p in like]
        self.b = [torch.zeros_like(p, requires_grad=False) for p in like]

    def add(self, importances: Sequence[torch.Tensor], weights: Sequence[torch.Tensor]) -> None:
        """Add a task's importances, with the current weights as its anchor."""
        for a, b, f, w in zip(self.a, self.b, importances, weights, strict=True):
            a += f
            b += f * w.detach()

    def __call__(self, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return the penalty without its constant."""
        penalty = torch.zeros((), device=weights[0].device)
        for a, b, w in zip(self.a, self.b, weights, strict=True):
            with torch.no_grad():
                pull = a * w
                value = _dot(pull, w) - 2 * _dot(b, w)
            penalty = penalty + known(value, [w], [pull.sub_(b).mul_(2)])
        return penalty

    def tensors(self) -> Tensors:
        """Return the sums, to be kept."""
        return numbered("a", self.a) | numbered("b", self.b)

    def restore(self, tensors: Tensors) -> None:
        """Install what `tensors` returned."""
        self.a = [tensors[f"a/{i}"].clone() for i in range(len(self.a))]
        self.b = [tensors[f"b/{i}"].clone() for i in range(len(self.b))]


class PenalisedMethod(SequentialMethod):
    """A sequential method with a penalty over all earlier tasks, kept as two sums whatever their
    number.
    """

    def setup(self) -> None:
        """Begin without a penalty."""
        super().setup()
        self.pull = Accumulator(self.net.parameters())

    def kept(self) -> Tensors:
        """Return the two sums."""
        return {f"pull/{name}": t for name, t in self.pull.tensors().items()}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install the sums of the last stage."""
        self.pull.restore(below("pull/", states[-1]))

    def stored(self, class_sizes: Array) -> Stored:
        """Return the two sums, which the papers do not count."""
        return Stored(uncounted=2 * self.net_words, net=self.net_words)


def pulled(
    importances: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
    anchors: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Return sum_p F_p (theta_p - theta*_p)^2, differentiable in the weights once."""
    penalty = torch.zeros((), device=weights[0].device)
    for f, w, anchor in zip(importances, weights, anchors, strict=True):
        with torch.no_grad():
            away = w - anchor
            pull = f * away
            value = _dot(pull, away)
        penalty = penalty + known(value, [w], [pull.mul_(2)])
    return penalty


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.dot(a.flatten(), b.flatten())


def numbered(name: str, tensors: Sequence[torch.Tensor]) -> Tensors:
    """Return tensors as `name/0`, `name/1`, ..."""
    return {f"{name}/{i}": t for i, t in enumerate(tensors)}


def gradients(
    value: torch.Tensor, weights: Sequence[torch.Tensor], *, graph: bool = False
) -> list[torch.Tensor]:
    """Return the gradients of a scalar, zeros where a weight does not enter."""
    return list(
        torch.autograd.grad(
            value, list(weights), create_graph=graph, allow_unused=True, materialize_grads=True
        )
    )


def squares(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return the squares of every tensor's numbers."""
    return [t**2 for t in tensors]
