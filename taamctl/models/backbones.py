"""The two encoders over cached H: the frozen random one of TAAM, and the trainable one of the
baselines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.models.initialise import linear
from taamctl.models.net_input import NetInput, times_weight

HIDDEN = 256
SLOPE = 0.2


@dataclass(frozen=True)
class FrozenBackbone:
    """g(h) = W2 LeakyReLU_0.2(W1 h), no bias, no activation after W2; drawn once per seed and never
    trained.

    Source: TAAM (2026), released SGC class. Text and TPP's twin class say ReLU; the released slope
    is taken.

    Attributes:
        w1: [256, F] float32. w2: [256, 256] float32.
    """

    w1: torch.Tensor
    w2: torch.Tensor

    @staticmethod
    def draw(num_features: int, seed: int) -> FrozenBackbone:
        """Draw the backbone of a seed."""
        generator = torch_generator(seed, "backbone")
        w1 = linear(HIDDEN, num_features, generator)
        return FrozenBackbone(w1, linear(HIDDEN, HIDDEN, generator))

    def to(self, device: torch.device) -> FrozenBackbone:
        """Return a copy on `device`."""
        return FrozenBackbone(self.w1.to(device), self.w2.to(device))

    def logits(
        self, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
    ) -> torch.Tensor:
        """Return head(W2 LeakyReLU(hidden)) for pre-activations W1 h'.

        The head is folded into W2 first: (weight W2) is C x 256, which saves the N x 256 x 256
        product.

        Args:
            hidden: [N, 256]. weight: [C, 256]. bias: [C].
        """
        return functional.linear(functional.leaky_relu(hidden, SLOPE), weight @ self.w2, bias)


class Trainable(Protocol):
    """Weights that a loop trains."""

    def parameters(self) -> list[torch.Tensor]:
        """Return the trainable tensors, always in the same order."""


class Net(Trainable, Protocol):
    """A trainable encoder with all its output rows."""

    def logits(self, h: torch.Tensor | NetInput, seen: int) -> torch.Tensor:
        """Return [N, seen] logits of the first `seen` classes."""


@dataclass
class TrainableNet:
    """f(h) = W2 ReLU(W1 h), no bias; all C output rows exist from the start and are revealed by
    slicing.

    Source: the SGC of the CGLB benchmark's descendants (SSM, DeLoMe, PDGNNs).

    Attributes:
        w1: [256, F]. w2: [C, 256]. Both float32, trainable.
    """

    w1: torch.Tensor
    w2: torch.Tensor

    @staticmethod
    def draw(
        num_features: int, num_classes: int, seed: int, device: torch.device, *, stage: int = -1
    ) -> TrainableNet:
        """Draw a net; `stage` distinguishes the re-initialisations of one seed."""
        generator = torch_generator(seed, "net", stage)
        w1 = linear(HIDDEN, num_features, generator)
        w2 = linear(num_classes, HIDDEN, generator)
        return TrainableNet(w1.to(device).requires_grad_(), w2.to(device).requires_grad_())

    def parameters(self) -> list[torch.Tensor]:
        """Return the trainable tensors."""
        return [self.w1, self.w2]

    def logits(self, h: torch.Tensor | NetInput, seen: int) -> torch.Tensor:
        """Return [N, seen] logits of the first `seen` classes."""
        return functional.linear(functional.relu(times_weight(h, self.w1)), self.w2[:seen])


@dataclass
class Mlp:
    """f(h) = W_L ReLU(... ReLU(W_1 h)), no bias: the net that PUMA retrains at every stage.

    Attributes:
        layers: weights [width, F], [width, width], ..., [C, width]; float32, trainable.
    """

    layers: list[torch.Tensor]

    @staticmethod
    def draw(sizes: Sequence[int], generator: torch.Generator, device: torch.device) -> Mlp:
        """Draw the layers between F, the hidden widths and C."""
        drawn = [linear(b, a, generator) for a, b in pairwise(sizes)]
        return Mlp([w.to(device).requires_grad_() for w in drawn])

    def parameters(self) -> list[torch.Tensor]:
        """Return the trainable tensors."""
        return self.layers

    def logits(self, h: torch.Tensor | NetInput, seen: int) -> torch.Tensor:
        """Return [N, seen] logits of the first `seen` classes."""
        hidden = times_weight(h, self.layers[0])
        for layer in self.layers[1:-1]:
            hidden = functional.linear(functional.relu(hidden), layer)
        return functional.linear(functional.relu(hidden), self.layers[-1][:seen])
