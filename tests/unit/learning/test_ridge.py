"""The analytic learner: against an independent solver, whatever the order of tasks, and its
choice of the ridge.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from taamctl.core.errors import TaamctlError
from taamctl.learning.kernels import ridge, ridge_search
from taamctl.params.train_params import RidgeParams

PARAMS = RidgeParams(
    hops={0: 1.0, 2: 1.0}, width=1, widest=4096, views=False, exponent=0.0, ridge=0.3
)
F, CLASSES = 12, 6


def drawn(seed: int = 0, noise: float = 1.0) -> tuple[dict[int, torch.Tensor], torch.Tensor]:
    """Return hop features and labels of 6 classes of unequal size."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(CLASSES), [30, 10, 20, 40, 15, 25])
    centre = 2 * np.eye(CLASSES, F)[y]
    hops = {
        j: torch.from_numpy((centre + noise * rng.standard_normal((len(y), F))).astype(np.float32))
        for j in (0, 2)
    }
    return hops, torch.from_numpy(y)


def sums_of(
    hops: dict[int, torch.Tensor],
    y: torch.Tensor,
    bounds: list[tuple[int, int]],
    params: RidgeParams,
) -> ridge.Sums:
    lift = ridge.Lift.draw(F, params, 0)
    parts = []
    for low, high in bounds:
        rows = (y >= low) & (y < high)
        parts.append(
            ridge.collect(
                {j: x[rows] for j, x in hops.items()}, y[rows] - low, high - low, lift, params
            )
        )
    total = parts[0]
    for part in parts[1:]:
        total = total.joined(part)
    return total


def test_the_weights_are_those_of_weighted_least_squares_on_stacked_rows() -> None:
    hops, y = drawn()
    w, strength = ridge.solve(sums_of(hops, y, [(0, 2), (2, 4), (4, 6)], PARAMS), PARAMS)
    phi = ridge.Lift.draw(F, PARAMS, 0).profile(hops, PARAMS.hops).double().numpy()
    row = np.sqrt(1 / np.bincount(y.numpy()))[y.numpy()][:, None]
    mean = np.square(phi * row).sum(0).mean()
    rows = np.concatenate([phi * row, np.sqrt(strength * mean) * np.eye(F)])
    targets = np.concatenate([np.eye(CLASSES)[y.numpy()] * row, np.zeros((F, CLASSES))])
    expected = np.linalg.lstsq(rows, targets, rcond=None)[0]
    assert strength == 0.3
    assert np.abs(w.numpy() - expected).max() < 1e-5


@pytest.mark.parametrize(
    "params", [PARAMS, replace(PARAMS, views=True, exponent=0.5, ridge=None, width=20)]
)
def test_the_order_of_tasks_is_without_meaning(params: RidgeParams) -> None:
    hops, y = drawn()
    joint, r = ridge.solve(sums_of(hops, y, [(0, 6)], params), params)
    forward, _ = ridge.solve(sums_of(hops, y, [(0, 2), (2, 4), (4, 6)], params), params)
    backward, _ = ridge.solve(sums_of(hops, y, [(4, 6), (2, 4), (0, 2)], params), params)
    assert (joint - forward).abs().max() < 1e-5
    assert (joint[:, [4, 5, 2, 3, 0, 1]] - backward).abs().max() < 1e-5
    assert r > 0


def test_a_class_weighs_the_same_whatever_its_size() -> None:
    hops, y = drawn()
    twice = torch.cat([torch.arange(len(y)), torch.nonzero(y == 3).flatten()])
    once, again = (
        sums_of({j: x[i] for j, x in hops.items()}, y[i], [(0, 6)], PARAMS)
        for i in (torch.arange(len(y)), twice)
    )
    assert (once.gram - again.gram).abs().max() < 1e-6
    assert (once.cross - again.cross).abs().max() < 1e-6


def test_cross_validation_from_the_sums_equals_that_of_the_rows() -> None:
    """GCV is defined by residuals and the hat matrix of the rows; here it is computed so."""
    hops, y = drawn(noise=3.0)
    sums = sums_of(hops, y, [(0, 6)], PARAMS)
    phi = ridge.Lift.draw(F, PARAMS, 0).profile(hops, PARAMS.hops).double().numpy()
    row = np.sqrt(1 / np.bincount(y.numpy()))[y.numpy()][:, None]
    a, b = phi * row, np.eye(CLASSES)[y.numpy()] * row
    scores = []
    for r in ridge_search.GRID:
        hat = a @ np.linalg.solve(a.T @ a + r * np.square(a).sum(0).mean() * np.eye(F), a.T)
        scores.append(np.square(b - hat @ b).sum() / (1 - np.trace(hat) / len(y)) ** 2)
    _, chosen = ridge.solve(sums, replace(PARAMS, ridge=None))
    assert chosen == ridge_search.GRID[int(np.argmin(scores))]
    assert 0 < int(np.argmin(scores)) < len(scores) - 1  # noise asks for a ridge inside the grid


@pytest.mark.parametrize(
    ("features", "width", "widest", "expected"),
    [(12, 1, 4096, 12), (12, 20, 4096, 20), (50, 20, 30, 30), (50, 20, 4096, 50), (50, 40, 30, 40)],
)
def test_profiles_are_filled_up_kept_or_projected(
    features: int, width: int, widest: int, expected: int
) -> None:
    params = replace(PARAMS, width=width, widest=widest)
    x = torch.randn(7, features, generator=torch.Generator().manual_seed(0))
    phi = ridge.Lift.draw(features, params, 3).profile({0: x, 2: x}, params.hops)
    assert phi.shape == (7, expected) == (7, params.profile_width(features))
    same = ridge.Lift.draw(features, params, 3).profile({0: 5 * x, 2: 5 * x}, params.hops)
    assert (phi - same).abs().max() < 1e-6  # the length of a node's features is without meaning


def test_packing_a_symmetric_matrix_keeps_every_bit() -> None:
    a = torch.randn(9, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a = a + a.T
    assert torch.equal(ridge.unpack(ridge.pack(a), 9), a)


def test_random_features_have_the_length_that_they_are_given() -> None:
    params = replace(PARAMS, width=20)
    x = torch.randn(7, F, generator=torch.Generator().manual_seed(0))
    lift = ridge.Lift.draw(F, params, 3)
    phi = lift.profile({0: x, 2: x}, params.hops)
    short = replace(lift, weight=0.25).profile({0: x, 2: x}, params.hops)
    assert torch.equal(short[:, :F], phi[:, :F])
    assert (short[:, F:].norm(dim=1) - 0.25).abs().max() < 1e-6


def test_a_ridge_that_is_chosen_is_multiplied_and_one_that_is_given_is_not() -> None:
    hops, y = drawn(noise=3.0)
    sums = sums_of(hops, y, [(0, 6)], PARAMS)
    chosen = replace(PARAMS, ridge=None)
    weights, strength = ridge.solve(sums, chosen, 3.0)
    assert strength == 3.0 * ridge.solve(sums, chosen)[1]
    assert torch.equal(weights, ridge.solve(sums, replace(PARAMS, ridge=strength))[0])
    assert ridge.solve(sums, PARAMS, 3.0)[1] == PARAMS.ridge


def test_a_node_without_features_has_a_zero_profile() -> None:
    x = torch.zeros(2, F)
    assert not ridge.Lift.draw(F, PARAMS, 0).profile({0: x, 2: x}, PARAMS.hops).any()


def test_hops_must_have_positive_weights() -> None:
    with pytest.raises(TaamctlError, match="hops .* positive weight"):
        replace(PARAMS, hops={0: 0.0})


def test_sums_per_class_are_the_same_by_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(500, 7, generator=generator)
    y = torch.randint(5, (500,), generator=generator)
    by_product = ridge._per_class(rows, y, 6)
    monkeypatch.setattr(ridge, "COLUMNS", 2)
    assert torch.allclose(by_product, ridge._per_class(rows, y, 6), atol=1e-4)
    assert by_product.dtype == torch.float64
    assert not by_product[5].any()
