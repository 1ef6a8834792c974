"""The choice of a ridge: scores against an eigendecomposition, and what rounding may do to a
matrix.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from taamctl.learning.kernels import ridge_search
from taamctl.learning.kernels.regression import Reduced, Regression, solved
from taamctl.learning.kernels.ridge_search import GRID

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


@pytest.mark.parametrize(("width", "nodes"), [(1, 9), (2, 9), (30, 200), (300, 90), (700, 1000)])
def test_a_score_is_that_of_the_eigenvalues(width: int, nodes: int) -> None:
    r = drawn(width, nodes, 2.0, width)
    reduced = Reduced.of(r)
    for ridge, score in zip(GRID, scores(r), strict=True):
        assert reduced.score(ridge) == pytest.approx(score, rel=1e-8)
        assert np.allclose(reduced.solution(ridge)[:width], r.solution(ridge), rtol=1e-9)


def test_a_score_above_the_lowest_so_far_may_be_a_lower_bound() -> None:
    bounds = 0
    for seed in range(20):
        r = drawn(60, 100 + 20 * seed, 2.0, seed)
        reduced, expected = Reduced.of(r), scores(r)
        lowest = min(expected)
        for ridge, score in zip(GRID, expected, strict=True):
            told = reduced.score(ridge, lowest)
            if told != pytest.approx(score, rel=1e-8):
                assert lowest < told < score
                bounds += 1
    assert bounds > 20


def test_the_ridge_is_the_one_with_the_lowest_score_of_all() -> None:
    chosen = set()
    for seed in range(60):
        width, nodes = 20 + 7 * (seed % 5), 15 + 40 * (seed % 7)
        r = drawn(width, nodes, 10.0 ** (seed % 4 - 1), seed)
        x, ridge = solved(r, None)
        place = int(np.argmin(scores(r)))
        assert ridge == GRID[place]
        assert torch.allclose(r.matrix @ x + ridge * x, r.targets, atol=1e-10)
        chosen.add(place)
    assert len(chosen) > 5, "both ends and the middle are met"


@pytest.mark.parametrize(
    ("nodes", "scale"), [(40, 1.0), (150, 1e4), (700, 1.0), (700, 1e5), (2400, 1e2)]
)
def test_the_ridge_of_a_wide_matrix(nodes: int, scale: float) -> None:
    for noise in (0.5, 3.0, 30.0):
        r = drawn(520, nodes, noise, nodes)
        r = Regression(r.matrix * scale, r.targets * math.sqrt(scale), r.nodes)
        x, ridge = solved(r, None, 3.0)
        assert ridge == 3.0 * GRID[int(np.argmin(scores(r)))]
        assert torch.allclose(x, r.solution(ridge), rtol=1e-6, atol=1e-9)


def test_no_feature_has_no_weight() -> None:
    empty = torch.zeros(0, 0, dtype=torch.float64)
    x, _ = solved(Regression(empty, empty.new_zeros(0, 3), 5), None)
    assert x.shape == (0, 3)


@pytest.mark.parametrize("low", range(len(GRID)))
def test_a_choice_takes_the_first_of_the_lowest(low: int) -> None:
    assert ridge_search.chosen(lambda ridge, _: float(ridge < GRID[low])) == GRID[low]


def test_without_freedom_the_largest_is_chosen() -> None:
    assert ridge_search.chosen(lambda *_: math.inf) == GRID[-1]


def test_threads_change_no_bit_of_a_choice() -> None:
    r = drawn(300, 500, 3.0, 1)
    threads = torch.get_num_threads()
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(Reduced.of(r))
    torch.set_num_threads(threads)
    assert np.array_equal(found[0].diagonal, found[1].diagonal)
    assert np.array_equal(found[0].targets, found[1].targets)


def test_a_ridge_below_the_rounding_of_the_sums_is_solved() -> None:
    """A Gram matrix of few rows whose null space came out negative."""
    r = drawn(50, 20, 1.0, 3)
    values, vectors = torch.linalg.eigh(r.matrix)
    noisy = (vectors * torch.where(values < 1e-9, -1e-6, values)) @ vectors.T
    x, ridge = solved(Regression(noisy, r.targets, r.nodes), 1e-7)
    expected = vectors @ ((vectors.T @ r.targets) / (values.clamp(min=0) + 1e-7)[:, None])
    assert ridge == 1e-7
    assert torch.allclose(x, expected, rtol=1e-3, atol=1e-3 * float(expected.abs().max()))


def test_sums_that_are_no_numbers_are_refused() -> None:
    r = drawn(20, 60, 1.0, 1)
    r.matrix[3, 3] = math.nan
    with pytest.raises(torch.linalg.LinAlgError):  # type: ignore[attr-defined]
        solved(r, None)
