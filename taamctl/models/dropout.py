"""What is drawn in a training step to keep a net from learning its training nodes by heart.

All draws come from a generator of one's own on the CPU, so they depend on no device, no number of
threads and no other draw.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import torch


@dataclass(frozen=True)
class Dropout:
    """Sets a random share of numbers to 0 and divides the others by 1 - share.

    Attributes:
        entries: share of hidden entries, in [0, 1). columns: share of feature columns, in [0, 1).
        generator: on the CPU.

    Source: Srivastava et al. (2014); of columns, as GRACE (Zhu et al., 2020) draws its views.
    """

    entries: float
    columns: float
    generator: torch.Generator

    def hidden(self, z: torch.Tensor) -> torch.Tensor:
        """Return hidden rows z [N, K] with other entries dropped at every call."""
        return self._drop(z, z.shape, self.entries)

    def weight(self, w: torch.Tensor) -> torch.Tensor:
        """Return w [..., F] with other columns dropped at every call: those of the features that
        it is multiplied with, of all nodes and hops, for the price of one weight.
        """
        return self._drop(w, w.shape[-1:], self.columns)

    def _drop(self, z: torch.Tensor, shape: torch.Size, share: float) -> torch.Tensor:
        if not share:
            return z
        kept = torch.rand(shape, generator=self.generator) >= share
        return z * kept.to(z.device) / (1 - share)
