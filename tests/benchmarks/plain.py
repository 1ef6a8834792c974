"""TAAM's training step as its equations read, in plain PyTorch: what the sweep is compared with."""

from __future__ import annotations

import torch
from torch.nn import functional

from taamctl.models import modulators


def loss(
    modulator: modulators.Weights,
    h: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    head: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor,
) -> torch.Tensor:
    """Return the weighted cross-entropy of head(W2 LeakyReLU(W1 h')); autograd keeps every N x F
    array on the way.

    Args:
        h: [N, F]. w1: [256, F]. w2: [256, 256]. head: [C, 256]. y: [N]. weights: [N] that sum to 1.
    """
    gamma, beta = modulators.modulation(modulator)
    a = torch.softmax(functional.linear(h, modulator["watt"], modulator["watt_bias"]), dim=1)
    moved = (a @ gamma) * functional.layer_norm(h, h.shape[1:], eps=1e-5) + a @ beta + h
    hidden = functional.linear(functional.leaky_relu(functional.linear(moved, w1), 0.2), w2)
    return (
        functional.cross_entropy(functional.linear(hidden, head), y, reduction="none") * weights
    ).sum()


def propagate(s: torch.Tensor, x: torch.Tensor, hops: int = 2) -> torch.Tensor:
    """Return S^hops X by a sparse product per hop."""
    for _ in range(hops):
        x = s @ x
    return x
