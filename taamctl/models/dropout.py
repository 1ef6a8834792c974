"""Dropout whose draws come from a generator of one's own, not from torch's global one."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import torch


@dataclass(frozen=True)
class Dropout:
    """z -> z with a random share of its entries set to 0 and the others divided by 1 - share.

    Attributes:
        share: of the entries, in [0, 1); 0 changes nothing.
        generator: on the CPU, so that a draw depends on no device and on no number of threads.

    Source: Srivastava et al. (2014).
    """

    share: float
    generator: torch.Generator

    def __call__(self, z: torch.Tensor) -> torch.Tensor:
        """Return z [N, K] with other entries dropped at every call."""
        if not self.share:
            return z
        kept = torch.rand(z.shape, generator=self.generator) >= self.share
        return z * kept.to(z.device) / (1 - self.share)
