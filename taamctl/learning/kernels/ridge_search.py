"""Solve (A + r I) X = B, r by generalised cross-validation, from a few Cholesky factors.

A factor gives X, its residual and the trace that the score needs for 2/3 P^3 operations; an
eigendecomposition costs far more than the five or six factors that a search asks for. The search
is done in float32, where scores near the best are right to 1e-5, and again in float64 where that
could matter.
Source: Golub, Heath, Wahba (1979); the search over factors is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

# Ridges that are chosen from: four a decade.
from taamctl.core.late_torch import torch

GRID = tuple(10.0 ** (place / 4) for place in range(-8, 5))
CLOSE = 5e-4  # relative difference of two scores that float32 does not decide
NARROW = 512  # up to this width every ridge is tried: it costs little
FEW = 1 / 8  # of the width; of fewer nodes scores have several lows, and every ridge is tried
BLOCK = 256  # triangles up to this width are inverted at once


@dataclass(frozen=True)
class Regression:
    """(A + r I) X = B.

    Attributes:
        matrix: A, [P, P] float64 or float32, positive semidefinite to rounding.
        targets: B, [P, C] of the same type; the weighted targets behind it have C unit masses.
        nodes: how many rows A and B are sums over.
    """

    matrix: torch.Tensor
    targets: torch.Tensor
    nodes: int

    def rough(self) -> Regression:
        """Return the same in float32."""
        return Regression(self.matrix.float(), self.targets.float(), self.nodes)

    def without_negative(self) -> Regression:
        """Return the same with A's negative eigenvalues, which are rounding, set to 0."""
        values, vectors = torch.linalg.eigh(self.matrix)
        positive = (vectors * values.clamp(min=0)) @ vectors.T
        return Regression(positive, self.targets, self.nodes)

    def solution(self, ridge: float) -> torch.Tensor:
        """Return X, [P, C]."""
        return torch.cholesky_solve(self.targets, self._factor(ridge))

    def score(self, ridge: float) -> float:
        """Return GCV(r) = RSS(r) / (1 - df(r) / N)^2; inf where no freedom is left.

        RSS = C - 2 tr(X^T B) + tr(X^T A X) = C - tr(X^T B) - r |X|^2, and df = tr(A (A + r I)^-1)
        = P - r tr((A + r I)^-1).
        """
        factor = self._factor(ridge)
        x = torch.cholesky_solve(self.targets, factor)
        explained = (x * self.targets).sum(dtype=torch.float64)
        length = (x**2).sum(dtype=torch.float64)
        residual = self.targets.shape[1] - float(explained + ridge * length)
        freedom = 1 - (len(factor) - ridge * inverse_square(factor)) / self.nodes
        return max(residual, 0.0) / freedom**2 if freedom > 0 else math.inf

    def _factor(self, ridge: float) -> torch.Tensor:
        shifted = self.matrix.clone()
        shifted.diagonal().add_(ridge)
        factor: torch.Tensor = torch.linalg.cholesky(shifted)
        return factor


def solved(
    regression: Regression, ridge: float | None, factor: float = 1.0
) -> tuple[torch.Tensor, float]:
    """Return X [P, C] and the ridge: where it is None, `factor` times the one that is chosen.

    A ridge may lie below the rounding of the sums; a matrix without negative eigenvalues then has
    a factor.
    """
    try:
        return _solved(regression, ridge, factor)
    except torch.linalg.LinAlgError:  # type: ignore[attr-defined]
        return _solved(regression.without_negative(), ridge, factor)


def _solved(
    regression: Regression, ridge: float | None, factor: float
) -> tuple[torch.Tensor, float]:
    chosen = ridge
    if chosen is None:
        chosen = factor * chosen_ridge(regression)
    return regression.solution(chosen), chosen


def chosen_ridge(regression: Regression) -> float:
    """Return the ridge of `GRID` with the lowest score.

    Scores may have a second low, most often at an end of the grid, so both ends are tried too. One
    inside the grid, which was seen for few nodes alone, would be missed.
    """
    width, last = len(regression.matrix), len(GRID) - 1
    if width <= NARROW or regression.nodes < FEW * width:
        exact = _on_grid(regression)
        return float(GRID[best({i: exact(i) for i in range(len(GRID))})])
    starts = {0, likely(width, regression.nodes), last}
    if not fits_float32(regression.matrix):
        return float(GRID[best(walk(_on_grid(regression), len(GRID), starts))])
    scores = walk(_on_grid(regression.rough()), len(GRID), starts)
    first, second = sorted(scores.values())[:2]
    if second <= first * (1 + CLOSE):  # float32 does not decide
        scores = walk(_on_grid(regression), len(GRID), set(scores))
    return float(GRID[best(scores)])


def fits_float32(matrix: torch.Tensor) -> bool:
    """Whether every ridge of `GRID` is above what rounding to float32 does to A's eigenvalues."""
    rounding = torch.finfo(torch.float32).eps * float(torch.linalg.matrix_norm(matrix))
    return rounding < float(GRID[0])


def likely(width: int, nodes: int) -> int:
    """Return where in `GRID` the search begins: at 0.4 (P / N)^1.25, which on the data sets here
    is at most two places off. Another place only takes longer.
    """
    guess = math.log10(0.4 * (width / max(nodes, 1)) ** 1.25)
    return int(min(max(round(4 * (guess + 2)), 0), len(GRID) - 1))


def walk(score: Callable[[int], float], count: int, starts: set[int]) -> dict[int, float]:
    """Return place -> score at `starts` and on the way from the best of them downhill to a place of
    0..count-1 that no neighbour is below.
    """
    known = {i: score(i) for i in sorted(starts)}
    while True:
        at = best(known)
        unknown = [i for i in (at - 1, at + 1) if 0 <= i < count and i not in known]
        if not unknown:
            return known
        known[unknown[0]] = score(unknown[0])


def best(scores: dict[int, float]) -> int:
    """Return the first of the lowest scores' places; the last where all are inf, since more
    freedom is left at a larger ridge.
    """
    finite = [i for i, s in scores.items() if math.isfinite(s)]
    return min(finite, key=lambda i: (scores[i], i)) if finite else max(scores)


def inverse_square(factor: torch.Tensor) -> float:
    """Return the sum of squares of L^-1, which is tr((L L^T)^-1), for a lower triangle L [P, P].

    By halves [[A, 0], [B, C]]: the inverse holds A^-1, C^-1 and C^-1 B A^-1; P^3 / 3 operations.
    """
    width = len(factor)
    if width <= BLOCK:
        eye = torch.eye(width, dtype=factor.dtype)
        return _squares(torch.linalg.solve_triangular(factor, eye, upper=False))
    half = width // 2
    first, last = factor[:half, :half], factor[half:, half:]
    right = torch.linalg.solve_triangular(first, factor[half:, :half], upper=False, left=False)
    corner = torch.linalg.solve_triangular(last, right, upper=False)
    return inverse_square(first) + inverse_square(last) + _squares(corner)


def _squares(x: torch.Tensor) -> float:
    return float((x**2).sum(dtype=torch.float64))


def _on_grid(regression: Regression) -> Callable[[int], float]:
    return lambda place: regression.score(float(GRID[place]))
