"""Sums as whole numbers: what comes and goes leaves no trace, and regressions are as before."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from taamctl.core.errors import TaamctlError
from taamctl.learning.kernels import class_sums, ridge
from taamctl.learning.kernels.class_sums import ClassSums, Rows, collect
from taamctl.params.train_params import RidgeParams

WIDTHS = ((6, 20, 4096), (30, 20, 4096), (30, 8, 12))  # random features beside, none, projected


def drawn(features: int, width: int, widest: int, views: bool, n: int = 90):
    params = RidgeParams({0: 1.0, 2: 1.0}, width, widest, views, 0.5, None)
    rng = np.random.default_rng(features + width)
    hops = {j: torch.from_numpy(rng.standard_normal((n, features))) for j in (0, 2)}
    hops[0][:, 1] = 0
    lift = ridge.Lift.draw(features, params, 1)
    return Rows(hops, rng.integers(0, 3, n)), lift, params


def part(rows: Rows, at) -> Rows:
    return Rows({j: x[at] for j, x in rows.hops.items()}, rows.y[at])


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("sizes", WIDTHS)
def test_they_are_the_sums_of_a_regression(sizes, views) -> None:
    rows, lift, params = drawn(*sizes, views)
    made = collect(rows, 3, lift, params).of_task(len(class_sums.views_of(params)))
    single = {j: x.float() for j, x in rows.hops.items()}
    right = ridge.collect(single, torch.from_numpy(rows.y), 3, lift, params)
    assert made.nodes == right.nodes
    assert torch.allclose(made.gram, right.gram, atol=3e-6, rtol=0)
    assert torch.allclose(made.cross, right.cross, atol=3e-6, rtol=0)


def test_any_order_and_any_detour_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, lift, params = drawn(*WIDTHS[0], views=True)
    right = collect(rows, 3, lift, params)
    rng = np.random.default_rng(0)
    for block in (7, 64, 8192):
        monkeypatch.setattr(class_sums, "ROWS", block)
        order = rng.permutation(90)
        made = collect(part(rows, order[:50]), 3, lift, params)
        made = made.swapped(part(rows, order[:20]), part(rows, order[50:]), lift, params)
        made = made.swapped(part(rows, []), part(rows, order[:20]), lift, params)
        for mine, its in zip(vars(made).values(), vars(right).values(), strict=True):
            assert np.array_equal(mine, its)
    gone = right.swapped(rows, part(rows, []), lift, params)
    assert not any(array.any() for array in vars(gone).values())


def test_a_class_that_is_too_large_is_refused_before_any_sum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, lift, params = drawn(*WIDTHS[0], views=True)
    monkeypatch.setattr(class_sums, "MOST", 60)
    with pytest.raises(TaamctlError, match="too large for exact sums: they hold 20"):
        collect(rows, 3, lift, params)


def test_the_largest_class_stays_inside_64_bits() -> None:
    largest = class_sums.MOST * int(class_sums.STEP) ** 2
    assert largest <= 2**62
    assert class_sums.ROWS * int(class_sums.STEP) ** 2 <= 2**53
    assert not ClassSums.empty(2, 5).of_task(3).gram.any()
