"""What a trained net is fed with: rows of H and, where most of H is zero, the stored entries alone.

One product with H forward and one backward are most of a training step.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.propagation.stored_entries import BothWays

# Share of entries that are not zero under which sparse products win on a CPU, by tests/benchmarks.
SPARSE = 0.25


@dataclass(frozen=True)
class NetInput:
    """The rows of one training set, the same in every epoch.

    Attributes:
        h: [N, F] float32.
        entries: H by its stored entries; None where H is mostly full, or is not on a CPU.
    """

    h: torch.Tensor
    entries: BothWays | None

    @staticmethod
    def of(h: torch.Tensor) -> NetInput:
        """Look at H once: which products with it are cheaper is a question of its zeros alone."""
        if h.device.type != "cpu" or torch.count_nonzero(h).item() >= SPARSE * h.numel():
            return NetInput(h, None)
        import scipy.sparse as sp

        return NetInput(h, BothWays.of(sp.csr_matrix(h.detach().numpy())))

    def __len__(self) -> int:
        return len(self.h)

    def __getitem__(self, rows: torch.Tensor | slice) -> torch.Tensor | NetInput:
        """Return a batch: all rows as they are, some of them as [B, F]."""
        return self if isinstance(rows, slice) else self.h[rows]


def times_weight(h: torch.Tensor | NetInput, weight: torch.Tensor) -> torch.Tensor:
    """Return h weight^T, [N, K]; differentiable in `weight` [K, F]."""
    if isinstance(h, torch.Tensor):
        return functional.linear(h, weight)
    if h.entries is None:
        return functional.linear(h.h, weight)
    return h.entries.times(weight.T)
