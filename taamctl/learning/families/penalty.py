"""Quadratic penalties that pull weights towards where earlier tasks left them (EWC, TWP, MAS)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from taamctl.core.types import Array, StreamInfo
from taamctl.learning.contract.method import Stored
from taamctl.learning.families.sequential import SequentialMethod, Tensors
from taamctl.params.train_params import TrainParams


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
        return sum(
            (
                (a * w * w - 2 * b * w).sum()
                for a, b, w in zip(self.a, self.b, weights, strict=True)
            ),
            torch.zeros((), device=weights[0].device),
        )

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return the sums, to be kept."""
        return {f"{name}/{i}": t for name in ("a", "b") for i, t in enumerate(getattr(self, name))}

    def restore(self, tensors: dict[str, torch.Tensor]) -> None:
        """Install what `tensors` returned."""
        for name in ("a", "b"):
            setattr(self, name, [tensors[f"{name}/{i}"].clone() for i in range(len(self.a))])


class PenalisedMethod(SequentialMethod):
    """A sequential method with a penalty over all earlier tasks, kept as two sums whatever their
    number.
    """

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self.pull = Accumulator(self.net.parameters())

    def kept(self) -> Tensors:
        """Return the two sums."""
        return {f"pull/{name}": t for name, t in self.pull.tensors().items()}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install the sums of the last stage."""
        self.pull.restore(
            {n.removeprefix("pull/"): t for n, t in states[-1].items() if n.startswith("pull/")}
        )

    def stored(self, class_sizes: Array) -> Stored:
        """Return the two sums, which the papers do not count."""
        return Stored(uncounted=2 * self.net_words, net=self.net_words)


def gradients(
    value: torch.Tensor, weights: Sequence[torch.Tensor], *, graph: bool = False
) -> list[torch.Tensor]:
    """Return the gradients of a scalar, zeros where a weight does not enter."""
    found = torch.autograd.grad(value, list(weights), create_graph=graph, allow_unused=True)
    return [torch.zeros_like(w) if g is None else g for g, w in zip(found, weights, strict=True)]
