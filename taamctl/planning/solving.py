"""What regressions of one width take to solve: from a factor of each precision, which is measured,
and how many of them the search for the ridge asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from taamctl.core.late_torch import torch
from taamctl.learning.kernels.ridge_search import FEW, GRID, NARROW, Regression
from taamctl.planning.spent import Spent, spent

WIDEST = 1024  # of the systems that are measured
GROWS = 2.8  # time is in proportion to the width to this power: wide products are a little faster
ROUGH_SCORES = 5.0  # ridges that a search in float32 looks at: 5 to 7 on the graphs tried
SOLUTIONS = 0.7  # scores in float64 that X, and checking what float32 does not decide, amount to


@dataclass(frozen=True)
class Solving:
    """Regressions of one width.

    Attributes:
        width: P. exact, rough: the score of one ridge, in float64 and float32.
        discriminant: the linear system of the Gaussian router.
    """

    width: int
    exact: Spent
    rough: Spent
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
        exact = Regression(gram, targets, small)
        rough = exact.rough()

        def price(work: Callable[[], object]) -> Spent:
            work()
            return spent(work) * math.pow(width / small, GROWS)

        return Solving(
            width,
            price(lambda: exact.score(1.0)),
            price(lambda: rough.score(1.0)),
            price(lambda: torch.linalg.solve(gram, targets)),
        )

    def ridge(self, nodes: float, fixed: float | None) -> Spent:
        """Return what one regression takes.

        Args:
            nodes: rows that its sums are over. fixed: the ridge where it is not searched for.
        """
        last = self.exact * SOLUTIONS
        if fixed is not None:
            return last
        if self.width <= NARROW or nodes < FEW * self.width:
            return self.exact * len(GRID) + last
        return self.rough * ROUGH_SCORES + last
