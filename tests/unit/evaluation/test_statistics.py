"""Intervals, the sign-flip test, Holm, ranks and verdicts: against scipy, by hand, and by laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from taamctl.core.errors import TaamctlError
from taamctl.evaluation import statistics as ours

SCORES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9)


def _draw(n: int, shift: float = 0.0, seed: int = 0) -> list[float]:
    drawn: list[float] = np.random.default_rng(seed).normal(shift, 1, n).tolist()
    return drawn


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "confidence"), [(2, 0.95), (3, 0.95), (10, 0.95), (10, 0.9), (100, 0.99)]
)
def test_the_t_interval_is_scipys(n: int, confidence: float) -> None:
    values = _draw(n, 0.5, n)
    found = ours.t_interval(values, confidence)
    reference = stats.ttest_1samp(values, 0).confidence_interval(confidence)
    assert found.mean == pytest.approx(np.mean(values))
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high))


def test_the_t_interval_by_hand() -> None:
    found = ours.t_interval([0.7, 0.8, 0.9])  # s = 0.1, t(0.975; 2) = 4.302653
    assert (found.mean, found.low, found.high) == pytest.approx(
        (0.8, 0.8 - 0.2484138, 0.8 + 0.2484138)
    )


def test_the_interval_of_equal_values_and_of_one() -> None:
    same = ours.t_interval([0.85] * 5)
    assert (same.mean, same.low, same.high) == pytest.approx((0.85, 0.85, 0.85))
    one = ours.t_interval([0.85])
    assert one.mean == 0.85
    assert np.isnan([one.low, one.high]).all()


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(1).normal(0.3, 0.1, (1000, 5))
    covered = [ours.t_interval(row.tolist()) for row in drawn]
    assert 0.93 < np.mean([c.low <= 0.3 <= c.high for c in covered]) < 0.97


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("n", [2, 5, 6, 9])
def test_the_sign_flip_test_is_scipys_permutation_test(n: int, shift: float) -> None:
    differences = _draw(n, shift, n)
    reference = stats.permutation_test(
        (differences, [0.0] * n),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        vectorized=True,
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert ours.sign_flip_test(differences) == pytest.approx(reference.pvalue)


@pytest.mark.parametrize("n", [6, 8, 10])
def test_on_ranks_it_is_wilcoxons_test(n: int) -> None:
    """The sign-flip test of signed ranks is the exact Wilcoxon signed-rank test."""
    differences = np.array(_draw(n, 0.6, n))
    ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    assert ours.sign_flip_test(ranks.tolist()) == pytest.approx(
        stats.wilcoxon(differences, method="exact").pvalue
    )


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0], 1.0),
        ([1.0, 1.0], 0.5),
        ([1.0, 2.0, 3.0], 2 / 8),
        ([1.0, 2.0, -3.0], 1.0),
        ([3.0, 2.0, -1.0], 4 / 8),
        ([0.0, 1.0], 1.0),
        ([0.1] * 6, 2 / 64),
        ([0.0] * 6, 1.0),
        ([0.3, 0.1, 0.2, 0.1, 0.3, 0.2], 2 / 64),
    ],
)
def test_the_sign_flip_test_by_hand(differences: list[float], p: float) -> None:
    assert ours.sign_flip_test(differences) == p


def test_ties_of_sums_do_not_hang_on_the_last_bits() -> None:
    differences = [
        0.1,
        0.2,
        0.3,
        -0.3,
        -0.2,
        -0.1,
    ]  # sums to 0 but for rounding, so every pattern reaches it
    assert ours.sign_flip_test(differences) == 1
    assert ours.sign_flip_test([0.1, 0.2, 0.3, 0.4, 0.5, -0.6]) == ours.sign_flip_test(
        [-0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    )


def test_many_pairs_are_drawn_always_alike_and_near_the_exact_p(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    differences = _draw(16, 0.35, 5)
    exact = ours.sign_flip_test(differences)
    assert ours.sign_flip_test([1.0] * ours.EXACT_PAIRS) == 2.0 ** (1 - ours.EXACT_PAIRS)
    assert 0.01 < exact < 0.9
    monkeypatch.setattr(ours, "EXACT_PAIRS", 15)
    drawn = ours.sign_flip_test(differences)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / ours.DRAWS))
    assert (
        drawn == ours.sign_flip_test(differences) == ours.sign_flip_test([-d for d in differences])
    )
    assert ours.sign_flip_test([1.0] * 40) == 1 / (1 + ours.DRAWS)
    assert ours.sign_flip_test([0.0] * 40) == 1


def test_under_no_difference_the_test_is_right_as_often_as_it_says() -> None:
    p = [
        ours.sign_flip_test(row.tolist())
        for row in np.random.default_rng(2).normal(0, 1, (1500, 8))
    ]
    assert 0.03 < np.mean(np.array(p) <= 0.05) < 0.06


@pytest.mark.parametrize(
    ("comparisons", "fewest"), [(1, 6), (2, 7), (3, 7), (6, 8), (10, 9), (21, 10)]
)
def test_the_fewest_pairs_that_can_tell(comparisons: int, fewest: int) -> None:
    assert ours.fewest_pairs(comparisons) == fewest
    assert ours.holm([ours.sign_flip_test([1.0] * fewest)] * comparisons)[0] < ours.LEVEL
    assert ours.holm([ours.sign_flip_test([1.0] * (fewest - 1))] * comparisons)[0] >= ours.LEVEL


# --------------------------------------------------------------------------------------------------


def test_holm_by_hand() -> None:
    assert ours.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )  # 4 x .005, 3 x .01, 2 x .03, 1 x .04
    assert ours.holm([0.5, 0.6]) == [1.0, 1.0]
    assert ours.holm([0.02]) == [0.02]
    assert ours.holm([]) == []


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_nothing_and_bonferroni(p: list[float]) -> None:
    adjusted = ours.holm(p)
    assert all(raw <= a <= min(1, len(p) * raw) + 1e-12 for raw, a in zip(p, adjusted, strict=True))
    assert all(
        adjusted[i] <= adjusted[j] for i in range(len(p)) for j in range(len(p)) if p[i] <= p[j]
    )


def test_ranks_by_hand_with_ties() -> None:
    ranks = ours.average_ranks({"a": [0.9, 0.5, 0.7], "b": [0.8, 0.5, 0.9], "c": [0.1, 0.5, 0.8]})
    assert ranks == pytest.approx(
        {"a": (1 + 2 + 3) / 3, "b": (2 + 2 + 1) / 3, "c": (3 + 2 + 2) / 3}
    )
    assert ours.average_ranks({"a": [0.1 + 0.2], "b": [0.3]}) == {
        "a": 1.5,
        "b": 1.5,
    }  # equal but for rounding


# --------------------------------------------------------------------------------------------------


def _judged(scores: dict[str, list[float]], **options: Any) -> dict[str, ours.Standing]:
    return {s.method: s for s in ours.standings(scores, ours.all_pairs(scores, **options))}


def test_verdicts_from_enough_pairs() -> None:
    base = [0.80, 0.82, 0.78, 0.81, 0.79, 0.83, 0.80, 0.77]
    noise = [0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.01, -0.005]
    scores = {
        "low": [b - 0.3 for b in base],
        "near": [b + n - 0.001 for b, n in zip(base, noise, strict=True)],
        "top": base,
    }
    judged = _judged(scores)
    assert list(judged) == ["top", "near", "low"] or list(judged) == ["near", "top", "low"]
    best, near, low = judged.values()
    assert (best.verdict, near.verdict, low.verdict) == ("best", "not distinguishable", "worse")
    assert best.against_best is None
    assert low.against_best is not None
    assert low.against_best.first == "low"
    assert low.against_best.difference.mean < -0.28
    assert low.against_best.p == 2 / 256
    assert low.against_best.p_holm == pytest.approx(3 * 2 / 256)
    assert low.rank == 3
    assert ours.top_group(list(judged.values())) == [best.method, near.method]


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_too_few_pairs_never_tell(pairs: int) -> None:
    judged = _judged({"good": [0.9] * pairs, "bad": [0.1] * pairs})
    assert judged["bad"].verdict == "not distinguishable"


def test_methods_that_do_not_vary() -> None:
    same = _judged({"probe": [0.85] * 8, "twin": [0.85] * 8})
    assert same["twin"].verdict == "not distinguishable"
    assert same["twin"].against_best is not None
    assert same["twin"].against_best.p == 1
    assert {s.rank for s in same.values()} == {1.5}
    against_noise = _judged(
        {"probe": [0.85] * 8, "net": [0.8 + 0.001 * i for i in range(8)]}, seeds_are_pairs=True
    )
    assert against_noise["net"].verdict == "worse"


def test_the_same_number_for_every_seed_is_one_pair() -> None:
    scores = {"probe": [0.85] * 8, "other": [0.84] * 8}
    repeated = _judged(scores, seeds_are_pairs=True)["other"].against_best
    assert repeated is not None
    assert (repeated.pairs, repeated.p) == (1, 1)
    blocks = _judged(scores)[
        "other"
    ].against_best  # blocks differ in their nodes: equal differences there are evidence
    assert blocks is not None
    assert (blocks.pairs, blocks.p) == (8, 2 / 256)


@settings(max_examples=60, deadline=None)
@given(SCORES)
def test_swapping_two_methods_flips_the_sign_and_leaves_p(pairs: list[tuple[float, float]]) -> None:
    first, second = (list(side) for side in zip(*pairs, strict=True))
    (one,), (other,) = (
        ours.all_pairs({"a": first, "b": second}),
        ours.all_pairs({"b": second, "a": first}),
    )
    assert one.difference.mean == -other.difference.mean
    assert (one.p, one.p_holm) == (other.p, other.p_holm)
    turned = one.facing("b")
    assert (turned.first, turned.second, turned.difference.mean) == (
        "b",
        "a",
        other.difference.mean,
    )
    assert one.facing("a") == one
    if len(pairs) > 1:
        assert (turned.difference.low, turned.difference.high) == pytest.approx(
            (other.difference.low, other.difference.high)
        )


@settings(max_examples=40, deadline=None)
@given(SCORES, st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(pairs: list[tuple[float, float]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    p = [
        ours.all_pairs({"a": [x for x, _ in some], "b": [y for _, y in some]})[0].p
        for some in (pairs, shuffled)
    ]
    assert p[0] == p[1]


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[0.5, float("nan")], [0.5, None], [float("inf")]])
def test_a_missing_value_is_refused(values: Any) -> None:
    for function in (ours.t_interval, ours.sign_flip_test, ours.holm):
        with pytest.raises(TaamctlError, match="missing or not finite"):
            function(values)
    with pytest.raises(TaamctlError, match="missing or not finite"):
        ours.all_pairs({"a": values, "b": [0.5] * len(values)})


def test_nothing_and_unequal_numbers_are_refused() -> None:
    with pytest.raises(TaamctlError, match="there is no value"):
        ours.t_interval([])
    with pytest.raises(TaamctlError, match="there is no value"):
        ours.sign_flip_test([])
    with pytest.raises(TaamctlError, match="cannot be paired: a has 2 values, b has 1 values"):
        ours.average_ranks({"a": [0.1, 0.2], "b": [0.1]})
    with pytest.raises(TaamctlError, match="there are none"):
        ours.average_ranks({})
