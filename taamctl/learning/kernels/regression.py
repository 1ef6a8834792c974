"""Solve (A + r I) X = B, r by generalised cross-validation over a grid.

A is reduced once, A = Q T Q^T with T tridiagonal, for 4/3 P^3 operations. A ridge then takes a few
P C operations: X = Q (T + r I)^-1 Q^T B, and the trace that its score needs from the pivots of T.
Source: Householder's reduction, by LAPACK; Golub, Heath, Wahba (1979) for the score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from taamctl.core import blas_buffers
from taamctl.core.late_torch import functional, torch
from taamctl.core.types import Array
from taamctl.learning.kernels import ridge_search

LEAST = 2  # rows that LAPACK wants of a tridiagonal matrix
# A matrix up to this width stays in a processor's cache: more threads would only wait.
IN_CACHE = 2048


@dataclass(frozen=True)
class Regression:
    """(A + r I) X = B.

    Attributes:
        matrix: A, [P, P] float64, positive semidefinite to rounding.
        targets: B, [P, C] float64; the weighted targets behind it have C unit masses.
        nodes: how many rows A and B are sums over.
    """

    matrix: torch.Tensor
    targets: torch.Tensor
    nodes: int

    def solution(self, ridge: float) -> torch.Tensor:
        """Return X, [P, C], from a Cholesky factor."""
        shifted = self.matrix.clone()
        shifted.diagonal().add_(ridge)
        return torch.cholesky_solve(self.targets, torch.linalg.cholesky(shifted))

    def without_negative(self) -> Regression:
        """Return the same with A's negative eigenvalues, which are rounding, set to 0."""
        values, vectors = torch.linalg.eigh(self.matrix)
        positive = (vectors * values.clamp(min=0)) @ vectors.T
        return Regression(positive, self.targets, self.nodes)


@dataclass(frozen=True)
class OrthogonalFactor:
    """Q as LAPACK keeps it: reflections of all rows but the first.

    Attributes:
        reflectors: [P - 1, P - 1] float64 in Fortran's order. scales: [P - 1].
    """

    reflectors: Array
    scales: Array

    def apply(self, x: Array) -> Array:
        """Return Q x, [P, C]."""
        return self._applied(x, "N")

    def apply_transposed(self, x: Array) -> Array:
        """Return Q^T x, [P, C]."""
        return self._applied(x, "T")

    def _applied(self, x: Array, way: str) -> Array:
        from scipy.linalg.lapack import dormqr

        given = ("L", way, self.reflectors, self.scales, x[1:])
        room = dormqr(*given, -1)[1][0]
        return np.concatenate([x[:1], dormqr(*given, int(room))[0]])


@dataclass(frozen=True)
class Reduced:
    """(T + r I) Y = Q^T B, where A = Q T Q^T and X = Q Y.

    Attributes:
        diagonal, off_diagonal: of T, [P] and [P - 1] float64.
        q: Q.
        targets: Q^T B, [P, C] float64.
        nodes: how many rows A and B are sums over.
    """

    diagonal: Array
    off_diagonal: Array
    q: OrthogonalFactor
    targets: Array
    nodes: int

    @staticmethod
    def of(regression: Regression) -> Reduced:
        """Reduce A; a matrix of fewer than `LEAST` rows is filled up with features that are 0."""
        from scipy.linalg import lapack

        more = max(0, LEAST - len(regression.matrix))
        matrix = functional.pad(regression.matrix, (0, more, 0, more)).numpy()
        targets = functional.pad(regression.targets, (0, 0, 0, more)).numpy()
        with _blas_threads(len(matrix)):
            room, _ = lapack.dsytrd_lwork(len(matrix), lower=1)
            # A is symmetric, so its transpose, which is in LAPACK's order, is A.
            packed, diagonal, off_diagonal, scales, _ = lapack.dsytrd(
                matrix.T, lower=1, lwork=int(room)
            )
            q = OrthogonalFactor(np.asfortranarray(packed[1:, :-1]), scales)
            return Reduced(diagonal, off_diagonal, q, q.apply_transposed(targets), regression.nodes)

    def score(self, ridge: float, lowest: float = math.inf) -> float:
        """Return GCV(r) = RSS(r) / (1 - df(r) / N)^2; inf where no freedom is left, and RSS(r), a
        lower bound, where that is above `lowest`.

        RSS = C - 2 tr(X^T B) + tr(X^T A X) = C - tr(X^T B) - r |X|^2, and df = tr(A (A + r I)^-1)
        = P - r tr((A + r I)^-1).
        """
        y = self._solved(ridge)
        explained, length = float(np.sum(y * self.targets)), float(np.sum(y**2))
        residual: float = self.targets.shape[1] - (explained + ridge * length)
        if residual > lowest:
            return residual
        freedom = 1 - (len(self.diagonal) - ridge * self._trace(ridge)) / self.nodes
        return max(residual, 0.0) / freedom**2 if freedom > 0 else math.inf

    def solution(self, ridge: float) -> Array:
        """Return X, [P, C] float64."""
        with _blas_threads(len(self.diagonal)):
            return self.q.apply(self._solved(ridge))

    def _solved(self, ridge: float) -> Array:
        """Return Y, [P, C]."""
        from scipy.linalg.lapack import dpttrs

        pivots, factor = _pivots(self.diagonal + ridge, self.off_diagonal)
        solved: Array = dpttrs(pivots, factor, self.targets)[0]
        return solved

    def _trace(self, ridge: float) -> float:
        """Return tr((T + r I)^-1): an entry of the inverse's diagonal is one over the sum of its
        pivots from above and from below, less the diagonal that both hold.
        """
        shifted = self.diagonal + ridge
        above, _ = _pivots(shifted, self.off_diagonal)
        below, _ = _pivots(shifted[::-1], self.off_diagonal[::-1])
        return float((1 / (above + below[::-1] - shifted)).sum())


def solved(
    regression: Regression, ridge: float | None, factor: float = 1.0
) -> tuple[torch.Tensor, float]:
    """Return X [P, C] and the ridge: where it is None, `factor` times the one with the lowest
    score.

    A ridge may lie below the rounding of the sums; a matrix without negative eigenvalues is then
    solved in its place.
    """
    try:
        return _solved(regression, ridge, factor)
    except (np.linalg.LinAlgError, torch.linalg.LinAlgError):  # type: ignore[attr-defined]
        return _solved(regression.without_negative(), ridge, factor)


def _solved(
    regression: Regression, ridge: float | None, factor: float
) -> tuple[torch.Tensor, float]:
    if ridge is not None:
        return regression.solution(ridge), ridge
    reduced = Reduced.of(regression)
    chosen = factor * ridge_search.chosen(reduced.score)
    width = len(regression.matrix)
    return torch.from_numpy(reduced.solution(chosen)[:width]), chosen


@contextmanager
def _blas_threads(width: int) -> Iterator[None]:
    """Let SciPy's BLAS have one thread for a matrix of `width` that stays in the cache, or those
    that torch has.
    """
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    blas_buffers.take_for_scipy()
    with threadpool_limits(1 if width <= IN_CACHE else torch.get_num_threads(), user_api="blas"):
        yield


def _pivots(diagonal: Array, off_diagonal: Array) -> tuple[Array, Array]:
    """Return D and L of a tridiagonal matrix L D L^T.

    Raises:
        LinAlgError: the matrix is not positive definite, or not of numbers.
    """
    from scipy.linalg.lapack import dpttrf

    pivots, factor, failed = dpttrf(diagonal, off_diagonal)
    if failed or math.isnan(pivots[-1]):  # a NaN goes through to the last pivot
        raise np.linalg.LinAlgError("a matrix is not positive definite")
    return pivots, factor
