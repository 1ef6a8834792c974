"""The running mean of weights over the last steps: an answer that does not hang on where training
happened to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from taamctl.core.late_torch import torch


@dataclass
class RunningMean:
    """m <- m + (w - m) / min(t, L) at step t: the plain mean of the first L, then exponential.

    Attributes:
        weights: tensors that are trained. length: L, steps. steps: t.

    Source: Polyak and Juditsky (1992), with the older steps forgotten.
    """

    weights: Sequence[torch.Tensor]
    length: int
    steps: int = 0
    mean: list[torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.mean = [torch.zeros_like(w, requires_grad=False) for w in self.weights]

    def add(self) -> None:
        """Take in the weights as they are now."""
        self.steps += 1
        for m, w in zip(self.mean, self.weights, strict=True):
            m.lerp_(w.detach(), 1 / min(self.steps, self.length))

    def install(self) -> None:
        """Replace the weights by their mean."""
        with torch.no_grad():
            for m, w in zip(self.mean, self.weights, strict=True):
                w.copy_(m)
