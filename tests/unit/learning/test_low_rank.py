"""A squeezed regression is solved without its Gram matrix: the same ridge and weights as with it,
and the same is kept of few sparse nodes as of their sums.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from taamctl.learning.kernels import low_rank, ridge, sparse_rows, squeezed
from taamctl.learning.kernels.regression import Reduced, Regression
from taamctl.learning.kernels.ridge_search import GRID
from taamctl.params.train_params import RidgeParams

PARAMS = RidgeParams(
    hops={0: 1.0, 2: 1.0}, width=1, widest=4096, views=True, exponent=0.5, ridge=None
)
F, CLASSES = 240, 3


def sparse_task(nodes: int, seed: int = 0) -> tuple[ridge.Hops, torch.Tensor]:
    """Return hops with some twenty words each, of which the last two never occur, and classes."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(nodes) % CLASSES
    topics = torch.rand(CLASSES, F, generator=generator) ** 4
    hops = {}
    for j in (0, 2):
        shown = torch.rand(nodes, F, generator=generator) < 0.3 * topics[y]
        hops[j] = shown * torch.rand(nodes, F, generator=generator)
        hops[j][:, -2:] = 0
    return hops, y


def lift_of(params: RidgeParams) -> ridge.Lift:
    return ridge.Lift.draw(F, params, 0)


def kept_both_ways(nodes: int, rank: int) -> tuple[squeezed.Kept, squeezed.Kept]:
    """Return what is kept of a task from its rows and from its Gram matrix."""
    hops, y = sparse_task(nodes)
    rows = sparse_rows.few(hops, y, CLASSES, lift_of(PARAMS), PARAMS)
    assert rows is not None
    few = squeezed.of_nodes(hops, y, CLASSES, lift_of(PARAMS), PARAMS, rank)
    sums = ridge.collect(hops, y, CLASSES, lift_of(PARAMS), PARAMS)
    return few, squeezed.of_task(sums, rank)


@pytest.mark.parametrize("ridge_of", [GRID[0], 0.3, GRID[-1]])
@pytest.mark.parametrize("columns", [0, 1, 9, F + 5])
def test_score_and_solution_are_those_of_the_whole_matrix(ridge_of: float, columns: int) -> None:
    generator = torch.Generator().manual_seed(columns)
    factors = torch.randn(F, columns, generator=generator, dtype=torch.float64)
    diagonal = torch.rand(F, generator=generator, dtype=torch.float64)
    targets = torch.randn(F, CLASSES, generator=generator, dtype=torch.float64) / F
    system = low_rank.LowRank(factors, diagonal, targets, 5 * F)
    whole = Regression(factors @ factors.T + torch.diag(diagonal), targets, 5 * F)
    assert torch.allclose(system.solution(ridge_of), whole.solution(ridge_of), rtol=1e-9)
    assert system.score(ridge_of) == pytest.approx(Reduced.of(whole).score(ridge_of), rel=1e-9)


def test_no_freedom_left_is_no_score() -> None:
    eye = torch.eye(F, dtype=torch.float64)
    system = low_rank.LowRank(100 * eye, torch.zeros(F, dtype=torch.float64), eye[:, :2], 10)
    assert system.score(1.0) == float("inf")
    assert system.chosen_ridge() == GRID[-1]


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rank", [0, 4, 40])
def test_kept_tasks_are_solved_as_their_sums_are(rank: int, exponent: float) -> None:
    params, kept = replace(PARAMS, exponent=exponent), squeezed.Kept.empty(F, False)
    for seed in range(3):
        hops, y = sparse_task(50, seed)
        kept = kept.joined(squeezed.of_nodes(hops, y, CLASSES, lift_of(params), params, rank))
    weights, chosen = kept.solve(params, 3.16)
    expected, wanted = ridge.solve(kept.sums(), params, 3.16)
    assert chosen == pytest.approx(wanted)
    assert (weights - expected).abs().max() < 1e-5 * expected.abs().max()
    assert not weights[-2:].any()  # of words that no node has
    fixed = replace(params, ridge=0.5)
    assert torch.equal(kept.solve(fixed)[0], ridge.solve(kept.sums(), fixed)[0])


@pytest.mark.parametrize("rank", [0, 8, F])
@pytest.mark.parametrize("nodes", [3, 60])
def test_few_sparse_nodes_are_kept_as_their_sums_are(nodes: int, rank: int) -> None:
    few, sums = kept_both_ways(nodes, rank)
    assert few.nodes == sums.nodes == nodes
    assert few.factors.dtype == torch.float16
    assert (few.cross - sums.cross).abs().max() < 1e-6
    scale = sums.sums().gram.abs().max()
    assert (few.sums().gram - sums.sums().gram).abs().max() < 2e-3 * scale  # of float16
    assert (few.sums().gram.diagonal() - sums.sums().gram.diagonal()).abs().max() < 1e-5


def test_many_nodes_and_full_features_take_the_gram_matrix() -> None:
    hops, y = sparse_task(F // 3)  # three views of each
    assert sparse_rows.few(hops, y, CLASSES, lift_of(PARAMS), PARAMS) is None
    full = {j: torch.ones(20, F) for j in (0, 2)}
    labels = torch.arange(20) % CLASSES
    assert sparse_rows.few(full, labels, CLASSES, lift_of(PARAMS), PARAMS) is None
    made = squeezed.of_nodes(full, labels, CLASSES, lift_of(PARAMS), PARAMS, None)
    assert len(made.gram) == F * (F + 1) // 2
