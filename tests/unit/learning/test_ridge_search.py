"""The search for a ridge: scores against an eigendecomposition, the same ridge as trying all, and
what rounding may do to a matrix.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from taamctl.learning.kernels import ridge_search
from taamctl.learning.kernels.ridge_search import GRID, Regression

CLASSES = 4


def drawn(width: int, nodes: int, noise: float, seed: int) -> Regression:
    """Return sums over drawn rows whose directions differ in size a thousandfold."""
    rng = torch.Generator().manual_seed(seed)
    y = torch.randint(CLASSES, (nodes,), generator=rng)
    centre = torch.randn(CLASSES, width, generator=rng, dtype=torch.float64)
    rows = centre[y] + noise * torch.randn(nodes, width, generator=rng, dtype=torch.float64)
    rows *= 10.0 ** -(3 * torch.rand(width, generator=rng, dtype=torch.float64))
    rows *= math.sqrt(width / float((rows**2).mean(0).sum()))
    targets = torch.nn.functional.one_hot(y, CLASSES).double()
    mass = targets.sum(0).clamp(min=1).rsqrt()[y, None]
    return Regression((mass * rows).T @ (mass * rows), (mass * rows).T @ (mass * targets), nodes)


def scores(r: Regression) -> list[float]:
    """Return the score of every ridge, from eigenvalues."""
    values, vectors = torch.linalg.eigh(r.matrix)
    turned = vectors.T @ r.targets
    out = []
    for ridge in GRID:
        x = vectors @ (turned / (values + ridge)[:, None])
        rest = CLASSES - 2 * (x * r.targets).sum() + (x * (r.matrix @ x)).sum()
        freedom = 1 - (values / (values + ridge)).sum() / r.nodes
        out.append(float(rest / freedom**2) if freedom > 0 else math.inf)
    return out


@pytest.mark.parametrize(("width", "nodes"), [(30, 200), (300, 90), (700, 1000)])
def test_a_score_is_that_of_the_eigenvalues(width: int, nodes: int) -> None:
    r = drawn(width, nodes, 2.0, width)
    expected = scores(r)
    for ridge, score in zip(GRID, expected, strict=True):
        assert r.score(ridge) == pytest.approx(score, rel=1e-8)
    at = int(np.argmin(expected))
    for place in range(max(at - 1, 0), min(at + 2, len(GRID))):
        rough = r.rough().score(float(GRID[place]))
        assert rough == pytest.approx(expected[place], rel=ridge_search.CLOSE / 4)


def test_the_ridge_is_the_one_that_trying_all_would_choose() -> None:
    chosen = set()
    for seed in range(60):
        width, nodes = 20 + 7 * (seed % 5), 15 + 40 * (seed % 7)
        r = drawn(width, nodes, 10.0 ** (seed % 4 - 1), seed)
        x, ridge = ridge_search.solved(r, None)
        place = int(np.argmin(scores(r)))
        assert ridge == GRID[place]
        assert torch.allclose(r.matrix @ x + ridge * x, r.targets, atol=1e-10)
        chosen.add(place)
    assert len(chosen) > 5, "both ends and the middle are met"


@pytest.mark.parametrize("nodes", [40, 150, 700, 2400])
def test_a_wide_matrix_is_searched_to_the_same_ridge(nodes: int) -> None:
    for noise in (0.5, 3.0, 30.0):
        r = drawn(520, nodes, noise, nodes)
        assert ridge_search.chosen_ridge(r) == GRID[int(np.argmin(scores(r)))]


def test_a_tie_in_float32_is_decided_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    r = drawn(520, 300, 3.0, 1)
    exact = r.score

    def blurred(self: Regression, ridge: float) -> float:
        return 1.0 if self.matrix.dtype == torch.float32 else exact(ridge)

    monkeypatch.setattr(Regression, "score", blurred)
    assert ridge_search.chosen_ridge(r) == GRID[int(np.argmin(scores(r)))]


@pytest.mark.parametrize("start", range(13))
def test_a_walk_ends_at_the_lowest_place_from_anywhere(start: int) -> None:
    for low in range(13):
        asked: list[int] = []

        def score(i: int, low: int = low, asked: list[int] = asked) -> float:
            asked.append(i)
            return abs(i - low)

        assert ridge_search.best(ridge_search.walk(score, 13, {start})) == low
        assert len(asked) == len(set(asked)) <= abs(start - low) + 3


def test_a_walk_leaves_ridges_without_freedom_upwards() -> None:
    found = ridge_search.walk(lambda i: math.inf if i < 6 else i, 13, {2})
    assert ridge_search.best(found) == 6


def test_the_trace_of_an_inverse_by_halves() -> None:
    for width in (1, 7, 256, 257, 601):
        r = drawn(width, 900, 1.0, width)
        positive = r.matrix + torch.eye(width, dtype=torch.float64)
        factor = torch.linalg.cholesky(positive)
        expected = float(torch.linalg.inv(positive).trace())
        assert ridge_search.inverse_square(factor) == pytest.approx(expected, rel=1e-10)


def test_a_ridge_below_the_rounding_of_the_sums_is_solved() -> None:
    """A Gram matrix of few rows whose null space came out negative."""
    r = drawn(50, 20, 1.0, 3)
    values, vectors = torch.linalg.eigh(r.matrix)
    noisy = (vectors * torch.where(values < 1e-9, -1e-6, values)) @ vectors.T
    x, ridge = ridge_search.solved(Regression(noisy, r.targets, r.nodes), 1e-7)
    expected = vectors @ ((vectors.T @ r.targets) / (values.clamp(min=0) + 1e-7)[:, None])
    assert ridge == 1e-7
    assert torch.allclose(x, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e5])
def test_a_matrix_too_large_for_float32_is_searched_in_float64(scale: float) -> None:
    r = drawn(520, 300, 3.0, 5)
    large = Regression(r.matrix * scale, r.targets * math.sqrt(scale), r.nodes)
    assert not ridge_search.fits_float32(large.matrix * 100)
    assert ridge_search.chosen_ridge(large) == GRID[int(np.argmin(scores(large)))]
    assert ridge_search.fits_float32(r.matrix)
