"""What regressions of one width take to solve, measured on a narrower one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from taamctl.core.late_torch import torch
from taamctl.learning.kernels import regression
from taamctl.learning.kernels.regression import Regression
from taamctl.planning.spent import Spent, spent

WIDEST = 1024  # of the systems that are measured
GROWS = 2.8  # time is in proportion to the width to this power: wide products are a little faster
# The same of choosing a ridge: half of the reduction waits for memory, which a wide matrix lies in.
CHOICE_GROWS = 3.3


@dataclass(frozen=True)
class Solving:
    """Regressions of one width.

    Attributes:
        width: P. chosen, fixed: one whose ridge is chosen, and one whose ridge is given.
        discriminant: the linear system of the Gaussian router.
    """

    width: int
    chosen: Spent
    fixed: Spent
    discriminant: Spent

    @staticmethod
    def measured(width: int, classes: int) -> Solving:
        """Measure the parts on a drawn system of `width`, or of `WIDEST` where that is less.

        Args:
            classes: columns of the right-hand side.
        """
        small = min(width, WIDEST)
        generator = torch.Generator().manual_seed(0)
        drawn = torch.rand(small, small, dtype=torch.float64, generator=generator)
        gram = drawn @ drawn.T / small + torch.eye(small, dtype=torch.float64)
        targets = drawn[:, : max(1, min(classes, small))].contiguous()
        system = Regression(gram, targets, small)

        def price(work: Callable[[], object], grows: float = GROWS) -> Spent:
            work()
            return spent(work) * math.pow(width / small, grows)

        return Solving(
            width,
            price(lambda: regression.solved(system, None), CHOICE_GROWS),
            price(lambda: regression.solved(system, 1.0)),
            price(lambda: torch.linalg.solve(gram, targets)),
        )

    def ridge(self, given: float | None) -> Spent:
        """Return what one regression takes, whose ridge is `given` or chosen."""
        return self.chosen if given is None else self.fixed
