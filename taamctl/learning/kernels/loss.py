"""Class-balanced cross-entropy over a range of classes."""

from __future__ import annotations

from taamctl.core.late_torch import functional, torch


def node_weights(y: torch.Tensor, num_classes: int, balance: bool) -> torch.Tensor:
    """Return every node's weight, [N] float32: 1 / (size of its class), or 1.

    Args:
        y: [N] class ids below `num_classes`.
    """
    if not balance:
        return torch.ones(len(y), device=y.device)
    counts = torch.bincount(y, minlength=num_classes).clamp(min=1)
    return 1.0 / counts[y].float()


def weighted_cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Return sum_v w_v CE_v / sum_v w_v. The paper's Eq. 11 is the bare sum, the released code
    this mean.

    Args:
        logits: [N, K]. target: [N] column ids. weights: [N].
    """
    each = functional.cross_entropy(logits, target, reduction="none")
    return (each * weights).sum() / weights.sum()
