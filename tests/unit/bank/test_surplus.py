"""Nodes that a graph has more of than its classes account for: on drawn profiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from taamctl.bank.honest import Honest
from taamctl.bank.reliability import area
from taamctl.bank.signs import SIGNS, Signs, signs_of
from taamctl.bank.surplus import (
    FEW,
    PENALTY,
    SAMPLE,
    Surplus,
    _fitted,
    beside,
    sampled,
    surplus,
)
from taamctl.core.types import Array

WIDTH = 12


def clouds(counts: tuple[int, ...], seed: int) -> tuple[torch.Tensor, Array, torch.Tensor]:
    """Return profiles of length 1 around drawn centres, the cloud of each, and the centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((len(counts), WIDTH))
    cloud = np.repeat(np.arange(len(counts)), counts)
    x = centres[cloud] + 0.6 * rng.standard_normal((len(cloud), WIDTH))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return torch.from_numpy(x.astype(np.float32)), cloud, torch.from_numpy(centres.T).float()


def told(x: torch.Tensor, answered: Array, means: torch.Tensor, copy: Array) -> Surplus:
    every = np.arange(len(x))
    return surplus(x, answered, means, every, copy, np.ones(len(x)))


@pytest.mark.parametrize("seed", range(3))
def test_strangers_among_the_asked_are_what_known_classes_do_not_account_for(seed: int) -> None:
    x, cloud, _ = clouds((200, 200, 200, 60), seed)
    known, label, _ = clouds((300, 300, 300, 1), seed + 50)
    means = torch.stack([known[label == c].mean(0) for c in range(3)], 1)
    answered = (x @ means).argmax(1).numpy()
    found = told(x, answered, means, np.zeros(len(x), int)).of(x, 0)
    assert area(found[cloud < 3], found[cloud == 3]) > 0.9


def test_the_slope_and_what_a_node_is_without_itself_are_those_of_the_normal_equations() -> None:
    x, answered, means = clouds((9, 7, 5), 3)
    mass = np.random.default_rng(1).random(len(x)) + 0.1
    made = surplus(x, answered, means, np.arange(len(x)), np.zeros(len(x), int), mass)
    share = mass / mass.sum()
    wide = x.double().numpy()
    known = means.double().numpy() @ np.bincount(answered, share)
    gram = wide.T @ (share[:, None] * wide)
    least = PENALTY * gram.trace() * np.eye(WIDTH)
    assert np.allclose(made.slope[:, 0], np.linalg.solve(gram + least, known), rtol=1e-4, atol=1e-4)
    for v in (0, 11, 20):
        without = gram - share[v] * np.outer(wide[v], wide[v])
        alone = wide[v] @ np.linalg.solve(without + least, known)
        whole = wide[v] @ np.linalg.solve(gram + least, known)
        assert whole / made.apart[v] == pytest.approx(alone, rel=1e-4)


def test_copies_of_a_graph_are_asked_about_each_by_itself() -> None:
    x, cloud, means = clouds((30, 40, 20), 5)
    both = torch.cat([x, x.flip(0) * 0.9])
    answered = np.concatenate([cloud, cloud[::-1]])
    copy = np.repeat([0, 1], len(x))
    found = told(both, answered, means, copy).of(both, 0)
    for number in (0, 1):
        here = copy == number
        alone = told(both[here], answered[here], means, np.zeros(len(x), int)).of(both[here], 0)
        assert np.allclose(found[here], alone, atol=1e-6)
    part = told(both, answered, means, copy).of(both[70:120], 70)
    assert np.allclose(part, found[70:120], atol=1e-6)


def test_a_small_graph_tells_little_and_nodes_not_looked_at_are_judged_as_they_are() -> None:
    x, cloud, means = clouds((4, 3), 2)
    made = surplus(x[:5], cloud[:5], means, np.arange(5), np.zeros(7, int), np.ones(5))
    assert made.trust == pytest.approx(7 / (7 + FEW))
    assert made.apart[5:].tolist() == [1, 1]
    assert np.abs(made.of(x, 0)).max() < 0.15


def test_at_most_so_many_nodes_of_every_copy_are_looked_at() -> None:
    copy = np.repeat([0, 1], [SAMPLE + 80, 30])
    found = sampled(copy)
    assert (np.diff(found) > 0).all()
    assert np.unique(copy[found], return_counts=True)[1].tolist() == [SAMPLE, 30]


def bank_of_before(means: torch.Tensor) -> tuple[Honest, Signs]:
    """Return what a bank knew before there was this sign."""
    signs = signs_of(means, means, np.ones(3), torch.ones(WIDTH))
    rng, four = np.random.default_rng(4), len(SIGNS)
    made = (rng.random(four), rng.random(four) + 1, rng.random(four))
    line = np.linspace(0, 1, 101)
    return Honest(5.0, 0.1, line, 9, signs.pull, signs.rarity, *made, line, line), signs


def test_a_bank_of_before_asks_no_graph_and_judges_by_four_signs() -> None:
    x, _, means = clouds((9, 9, 9), 1)
    old, signs = bank_of_before(means / 10)
    scores = x @ signs.weight
    found = old.unlike(signs, x, scores, None, 0)
    by_hand = (signs.of(x, scores.double().numpy()) - old.centre) / old.scale @ old.weight
    assert np.allclose(found, by_hand)
    assert "honest/means" not in dict(old.arrays())
    two = np.stack([np.arange(100.0), np.arange(100.0) + 7])
    line = np.linspace(0, 1, 101)
    same = replace(old, stand_ins=line, usual=line)
    assert same.limit(0.05, two) == pytest.approx(np.quantile(two, 0.95))
    now = replace(same, means=means.numpy())
    assert now.limit(0.05, two) == pytest.approx(np.quantile(two[1], 0.95))


def test_without_a_graph_the_last_sign_is_nothing() -> None:
    x, _, _ = clouds((3, 2), 1)
    assert beside(np.ones((5, 4)), None, x, 0).tolist() == [[1, 1, 1, 1, 0]] * 5


@pytest.mark.parametrize("width", [5, 40, 400])
def test_both_forms_of_the_fit_are_one(width: int) -> None:
    generator = torch.Generator().manual_seed(width)
    rows = torch.rand(40, width, generator=generator)
    share = np.full(40, 1 / 40)
    known = torch.rand(width, generator=generator, dtype=torch.float64)
    slope, own = _fitted(rows, share, known)
    z = rows.double() / 40**0.5
    penalty = PENALTY * float((z**2).sum())
    whole = z.T @ z + penalty * torch.eye(width, dtype=torch.float64)
    assert torch.allclose(slope.double(), torch.linalg.solve(whole, known), rtol=1e-4, atol=1e-4)
    left = 1 - (z @ torch.linalg.solve(whole, z.T)).diagonal().numpy()
    assert np.allclose(own, np.maximum(left, 1e-3), atol=1e-9)
