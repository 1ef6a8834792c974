"""What is kept of the nodes of a task in few numbers: exact where there are few directions, never
above what there is, the same after any order of tasks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from taamctl.learning.kernels import ridge, squeezed
from taamctl.learning.kernels.squeezed import Kept
from taamctl.params.train_params import RidgeParams

PARAMS = RidgeParams(
    hops={0: 1.0, 2: 1.0}, width=1, widest=4096, views=True, exponent=0.5, ridge=None
)
F, SIZES = 40, (30, 12, 25, 9, 18, 40)
BOUNDS = ((0, 2), (2, 4), (4, 6))


def task_sums(seed: int = 0) -> list[ridge.Sums]:
    """Return the sums of three tasks of classes around random means, on a few strong directions."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((len(SIZES), F))
    shape = rng.standard_normal((F, F)) * 0.6 ** np.arange(F)
    lift, found = ridge.Lift.draw(F, PARAMS, 0), []
    for low, high in BOUNDS:
        y = np.repeat(np.arange(low, high), SIZES[low:high])
        hops = {
            j: torch.from_numpy(
                (means[y] + rng.standard_normal((len(y), F)) @ shape.T).astype(np.float32)
            )
            for j in (0, 2)
        }
        found.append(ridge.collect(hops, torch.from_numpy(y - low), high - low, lift, PARAMS))
    return found


def kept_of(tasks: list[ridge.Sums], rank: int | None) -> Kept:
    kept = Kept.empty(F, rank is None)
    for sums in tasks:
        kept = kept.joined(squeezed.of_task(sums, rank))
    return kept


def joined(tasks: list[ridge.Sums]) -> ridge.Sums:
    total = tasks[0]
    for sums in tasks[1:]:
        total = total.joined(sums)
    return total


@pytest.mark.parametrize("rank", [None, F])
def test_all_directions_are_the_whole_matrix(rank: int | None) -> None:
    tasks = task_sums()
    made, whole = kept_of(tasks, rank).sums(), joined(tasks)
    assert made.nodes == whole.nodes == sum(SIZES)
    assert (made.cross - whole.cross).abs().max() < 1e-6
    assert (made.gram - whole.gram).abs().max() < 2e-3 * whole.gram.abs().max()  # of float16


@pytest.mark.parametrize("rank", [0, 3, 10])
def test_the_means_and_the_diagonal_are_exact_and_more_directions_are_nearer(rank: int) -> None:
    tasks = task_sums()
    made, more, whole = kept_of(tasks, rank).sums(), kept_of(tasks, rank + 5).sums(), joined(tasks)
    assert (made.gram.diagonal() - whole.gram.diagonal()).abs().max() < 2e-4  # of float16
    gaps = [float((one.gram - whole.gram).norm()) for one in (more, made)]
    assert gaps[0] < gaps[1]
    explained = made.gram - made.cross @ made.cross.T  # never less than the means themselves
    assert torch.linalg.eigvalsh(explained)[0] > -1e-6


def test_directions_are_as_good_as_the_leading_eigenvectors() -> None:
    a = torch.randn(F, F, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    matrix = a * 0.5 ** torch.arange(F) @ a.T
    for rank in (1, 4, 8):
        factors = squeezed.leading(matrix, rank)
        assert torch.linalg.eigvalsh(matrix - factors @ factors.T)[0] > -1e-9 * matrix.norm()
        best = torch.linalg.eigvalsh(matrix)[:-rank].square().sum().sqrt()
        assert (matrix - factors @ factors.T).norm() < 1.05 * best


@pytest.mark.parametrize("directions", [0, 1, 5])
def test_no_more_columns_than_there_are_directions(directions: int) -> None:
    a = torch.randn(F, directions, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    factors = squeezed.leading(a @ a.T, 12)
    assert factors.shape == (F, directions)
    assert (factors @ factors.T - a @ a.T).abs().max() < 1e-9


def test_a_task_of_few_nodes_takes_few_numbers_and_loses_nothing() -> None:
    lift = ridge.Lift.draw(F, PARAMS, 0)
    hops = {j: torch.randn(4, F, generator=torch.Generator().manual_seed(j)) for j in (0, 2)}
    sums = ridge.collect(hops, torch.tensor([0, 0, 1, 1]), 2, lift, PARAMS)
    kept = squeezed.of_task(sums, F)
    assert kept.factors.shape[1] <= 3 * 4 - 2  # three views of four nodes around two means
    assert (kept_of([sums], F).sums().gram - sums.gram).abs().max() < 1e-3


@pytest.mark.parametrize("rank", [None, 0, 4])
def test_the_order_of_tasks_changes_nothing_but_rounding(rank: int | None) -> None:
    tasks = task_sums()
    forward, _ = ridge.solve(kept_of(tasks, rank).sums(), PARAMS)
    backward, _ = ridge.solve(kept_of(tasks[::-1], rank).sums(), PARAMS)
    assert (forward - backward[:, [4, 5, 2, 3, 0, 1]]).abs().max() < 1e-4 * forward.abs().max()


def test_the_order_of_nodes_changes_little_also_where_eigenvalues_are_alike() -> None:
    rows = torch.randn(60, F, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    noise = 1e-7 * torch.randn(F, F, generator=torch.Generator().manual_seed(3)).double()
    matrix = rows.T @ rows
    one, other = (squeezed.leading(m, 6) for m in (matrix, matrix + noise + noise.T))
    assert (one @ one.T - other @ other.T).norm() < 1e-5 * matrix.norm()


@pytest.mark.parametrize(("rank", "tasks"), [(None, 3), (0, 3), (4, 3), (64, 3), (13, 3), (12, 3)])
def test_words_are_those_that_are_kept(rank: int | None, tasks: int) -> None:
    own = squeezed.kept_rank(F, rank, tasks)
    arrays = kept_of(task_sums(), own).arrays()
    numbers = sum(a.numel() * a.element_size() // 2 for n, a in arrays.items() if n != "nodes")
    held = numbers / 2 - F * (own is None)  # a whole matrix leaves no rest
    assert held == squeezed.words(F, len(SIZES), rank, tasks)
    assert held <= F * (F + 1) / 2 + F * (1 + len(SIZES))


def test_directions_are_kept_only_where_they_take_less_than_the_whole() -> None:
    rng = np.random.default_rng(0)
    found = set()
    for width, rank, tasks in rng.integers((1, 0, 1), (60, 40, 9), (400, 3)).tolist():
        kept = squeezed.kept_rank(width, rank, tasks)
        less = width * (2 + rank * tasks) < width * (width + 1)
        assert kept == {True: rank, False: None}[less]
        found.add(less)
    assert found == {True, False}
    assert squeezed.kept_rank(1_000_000, None, 1) is None


def test_what_is_kept_comes_back_from_its_arrays() -> None:
    kept = kept_of(task_sums(), 4)
    again = Kept.from_arrays(kept.arrays())
    assert again.nodes == kept.nodes
    assert torch.equal(again.sums().gram, kept.sums().gram)
    assert replace(again, nodes=1).nodes == 1


@pytest.mark.parametrize("nodes", [1, 3, 20])
def test_stored_sums_take_no_more_than_their_nodes_need_and_lose_rounding_only(nodes: int) -> None:
    params = replace(PARAMS, width=60)
    lift = ridge.Lift.draw(F, params, 0)
    rng = torch.Generator().manual_seed(nodes)
    hops = {j: torch.randn(nodes, F, generator=rng) for j in (0, 2)}
    sums = ridge.collect(hops, torch.arange(nodes) % 2, 2, lift, params)
    kept = squeezed.stored(sums, 3)
    assert (kept.gram - sums.gram).abs().max() < 1e-5 * sums.gram.diagonal().max()
    assert (kept.factors is None) == (2 * 3 * nodes >= 60)
    if kept.factors is not None:
        assert kept.factors.shape[1] <= 3 * nodes
        again = squeezed.from_factors(kept.factors, kept.cross, nodes)
        assert torch.equal(again.gram, kept.gram)
