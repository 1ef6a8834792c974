"""Solve (G + r D) W = Q where G is of few directions and a diagonal, G = U U^T + diag(s).

With U of K columns a ridge takes one Cholesky factor of K x K instead of P x P (Woodbury's
identity), and so do the degrees of freedom that its score needs. So every ridge of the grid is
tried, in float64. Source: Woodbury (1950); the score as in ridge_search.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from taamctl.core.late_torch import torch
from taamctl.learning.kernels.ridge_search import chosen


@dataclass(frozen=True)
class LowRank:
    """(M M^T + diag(d) + r I) X = B.

    Attributes:
        factors: M, [P, K] float64.
        diagonal: d, [P] float64, none below 0.
        targets: B, [P, C] float64; the weighted targets behind it have C unit masses.
        nodes: how many rows it is learned from.
    """

    factors: torch.Tensor
    diagonal: torch.Tensor
    targets: torch.Tensor
    nodes: int

    def solution(self, ridge: float) -> torch.Tensor:
        """Return X, [P, C]."""
        return self._solution(_Inverse.of(self, ridge))

    def score(self, ridge: float, lowest: float = math.inf) -> float:
        """Return GCV(r) = RSS(r) / (1 - df(r) / N)^2; inf where no freedom is left, and RSS(r), a
        lower bound, where that is above `lowest`.
        """
        inverse = _Inverse.of(self, ridge)
        x = self._solution(inverse)
        explained, length = float((x * self.targets).sum()), float(x.square().sum())
        residual = self.targets.shape[1] - (explained + ridge * length)
        if residual > lowest:
            return residual
        freedom = 1 - (len(self.diagonal) - ridge * inverse.trace()) / self.nodes
        return max(residual, 0.0) / freedom**2 if freedom > 0 else math.inf

    def chosen_ridge(self) -> float:
        """Return the ridge of `GRID` with the lowest score."""
        return chosen(self.score)

    def _solution(self, inverse: _Inverse) -> torch.Tensor:
        inner = torch.cholesky_solve(inverse.scaled.T @ self.targets, inverse.factor)
        return inverse.own[:, None] * self.targets - inverse.scaled @ inner


@dataclass(frozen=True)
class _Inverse:
    """(M M^T + E)^-1 = E^-1 - S (L L^T)^-1 S^T with E = diag(d) + r I.

    Attributes:
        own: diagonal of E^-1, [P].
        scaled: S = E^-1 M, [P, K].
        factor: L, the Cholesky factor of I + M^T S, [K, K].
    """

    own: torch.Tensor
    scaled: torch.Tensor
    factor: torch.Tensor

    @staticmethod
    def of(system: LowRank, ridge: float) -> _Inverse:
        own = 1 / (system.diagonal + ridge)
        scaled = own[:, None] * system.factors
        inner = system.factors.T @ scaled
        inner.diagonal().add_(1)
        return _Inverse(own, scaled, torch.linalg.cholesky(inner))

    def trace(self) -> float:
        half = torch.linalg.solve_triangular(self.factor, self.scaled.T, upper=False)
        return float(self.own.sum() - half.square().sum())


def solve(
    factors: torch.Tensor,
    rest: torch.Tensor,
    cross: torch.Tensor,
    nodes: int,
    exponent: float,
    factor: float,
) -> tuple[torch.Tensor, float]:
    """Return W [P, C] float32 as `ridge.solve` does of the same G, and the ridge: `factor` times
    that of generalised cross-validation.

    Args:
        factors: U, [P, K] float64. rest: s, [P] float64. cross: Q, [P, C] float64.
        exponent: of the mean square of a feature in its penalty.
    """
    mean_square = factors.square().sum(1) + rest
    used = mean_square > 0  # the weights of a feature that no node had are 0
    penalty = mean_square.clamp(min=1e-12) ** exponent
    root = (penalty * (mean_square.mean() / penalty.mean())).rsqrt()[used, None]
    system = LowRank(
        root * factors[used], root[:, 0].square() * rest[used], root * cross[used], nodes
    )
    ridge = factor * system.chosen_ridge()
    weights = torch.zeros(cross.shape)
    weights[used] = (root * system.solution(ridge)).float()
    return weights, ridge
