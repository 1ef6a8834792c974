"""What several runs of several methods say about which is better: intervals, a paired test, ranks.

Pure functions; fractions.

A *pair* is one condition under which every method was run, so that methods are compared within it:
a block (data set, class order, split) with its seeds averaged, or, where there is one block only, a
seed. The pair is the unit of replication: more seeds inside a block do not make more pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array

LEVEL = 0.05  # of every test; two-sided
EXACT_PAIRS = 16  # up to 2^16 sign patterns are enumerated
DRAWS = 100_000  # sign patterns drawn where there are more
DIGITS = 12  # scores that agree to this many decimals are tied: averaging over seeds rounds


@dataclass(frozen=True)
class Interval:
    """A mean and its two-sided confidence interval, in the unit of the values; `low` and `high`
    are NaN for one value.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Two methods over the same pairs.

    Attributes:
        first, second: their names.
        difference: mean and 95 % interval of score(first) - score(second), as a fraction.
        pairs: what the test rests on, P; 1 where neither method varies over repeated seeds.
        p: two-sided, of this comparison alone.
        p_holm: the same, adjusted for all comparisons of the family.
    """

    first: str
    second: str
    difference: Interval
    pairs: int
    p: float
    p_holm: float

    def facing(self, name: str) -> Comparison:
        """Return this comparison with `name` as the first of the two; p values do not depend on
        it.
        """
        if name == self.first:
            return self
        d = self.difference
        return Comparison(
            self.second,
            self.first,
            Interval(0.0 - d.mean, 0.0 - d.high, 0.0 - d.low),
            self.pairs,
            self.p,
            self.p_holm,
        )


@dataclass(frozen=True)
class Standing:
    """Where a method stands among the others.

    Attributes:
        method: its name.
        score: mean and 95 % interval over the pairs, as a fraction.
        rank: mean rank over the pairs; 1 is the best, ties share their ranks.
        against_best: the comparison with the best method, this method first; None for the best
            itself.
        verdict: `best` (highest mean), `not distinguishable` from it, or `worse`.
    """

    method: str
    score: Interval
    rank: float
    against_best: Comparison | None
    verdict: str


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the mean and its two-sided t interval: mean -+ t(1 - (1 - confidence) / 2; n - 1) s /
    sqrt(n).

    s is the sample standard deviation (divisor n - 1). The interval is not cut at 0 or 1; equal
    values give one of width zero.

    Args:
        values: [n] scores or differences of independent conditions, in any unit.

    Returns:
        mean, low and high in the unit of the values.

    Raises:
        TaamctlError: no value, or one that is missing or not finite.

    Source: Student (1908), "The probable error of a mean".
    """
    from scipy import stats

    x = _numbers(values)
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, float("nan"), float("nan"))
    half = (
        float(stats.t.ppf(0.5 + confidence / 2, len(x) - 1))
        * float(x.std(ddof=1))
        / float(np.sqrt(len(x)))
    )
    return Interval(mean, mean - half, mean + half)


def sign_flip_test(differences: Sequence[float], seed: int = 0) -> float:
    """Return the two-sided p value of the mean of paired differences under random flips of their
    signs.

    H0: every difference is as likely as its negative. p = share of sign patterns s in {-1, 1}^P
    with |sum s_i d_i| >= |sum d_i|. All 2^P patterns are enumerated up to P = 16; beyond, p = (1 +
    hits) / (1 + draws) over 100,000 patterns from a seeded generator, so that p is never 0 and
    always the same.

    Args:
        differences: [P] score of one method minus the other's, one per pair, in any unit.
        seed: of the drawn patterns; without effect up to P = 16.

    Returns:
        p in (0, 1]; exactly 1 where all differences are 0.

    Raises:
        TaamctlError: no difference, or one that is missing or not finite.

    Source: Fisher (1935), "The design of experiments", section 21; Phipson and Smyth (2010) for the
    1 in the drawn p.
    """
    d = _numbers(differences)
    reached = abs(float(d.sum())) - 1e-9 * float(
        np.abs(d).sum()
    )  # sums of the same numbers in another order may differ in the last bits
    if len(d) <= EXACT_PAIRS:
        bits = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1
        return float((np.abs((1 - 2 * bits) @ d) >= reached).mean())
    generator, hits, block = np.random.default_rng(seed), 0, 10_000
    for _ in range(DRAWS // block):
        signs = 1 - 2 * generator.integers(0, 2, size=(block, len(d)))
        hits += int((np.abs(signs @ d) >= reached).sum())
    return (1 + hits) / (1 + DRAWS)


def fewest_pairs(comparisons: int = 1) -> int:
    """Return the fewest pairs with which any of m comparisons can reach p < 0.05: the least P with
    m 2^(1 - P) < 0.05.

    2^(1 - P) is the smallest two-sided p of the sign-flip test, and Holm's first step multiplies
    the smallest p by m. So 6 pairs for one comparison, 7 for the three of three methods.

    Args:
        comparisons: m, how many are adjusted together.
    """
    return next(n for n in itertools.count(1) if comparisons * 2.0 ** (1 - n) < LEVEL)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number, in the order given: p~(i) = max over j <= i of
    min(1, (m - j + 1) p(j)).

    p(1) <= ... <= p(m) are the sorted values. Rejecting where p~ < 0.05 keeps the probability of
    any false rejection below 0.05, whatever the dependence between the tests.

    Args:
        p_values: [m], each in [0, 1].

    Returns:
        [m] adjusted values in [0, 1], never below the given ones.

    Raises:
        TaamctlError: a value that is missing or not finite.

    Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
    """
    if not len(p_values):
        return []
    p = _numbers(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(
        np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order])
    )
    return [float(v) for v in adjusted]


def average_ranks(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return every method's mean rank R_k = (1 / P) sum over pairs of rank_pk; 1 is the highest
    score, ties share their mean rank.

    Args:
        scores: per method [P] scores, the same pairs in the same order for all. Scores equal to 12
            decimals are tied.

    Returns:
        mean ranks in [1, K] for K methods; they sum to K (K + 1) / 2.

    Raises:
        TaamctlError: methods with different numbers of pairs, or a score that is missing or not
            finite.

    Source: Friedman (1937); Demsar (2006), "Statistical comparisons of classifiers over multiple
    data sets", section 3.2.
    """
    from scipy import stats

    ranks = stats.rankdata(-np.round(_table(scores), DIGITS), axis=0).mean(axis=1)
    return {name: float(rank) for name, rank in zip(scores, ranks, strict=True)}


def all_pairs(
    scores: Mapping[str, Sequence[float]], *, seeds_are_pairs: bool = False
) -> list[Comparison]:
    """Return the paired comparison of every two methods, m = K (K - 1) / 2 of them, adjusted
    together by Holm.

    Args:
        scores: per method [P] scores as fractions, the same pairs in the same order for all.
        seeds_are_pairs: the pairs are seeds of one block. Two methods that do not depend on the
            seed then repeat one number each: that is one pair, however many seeds there are.

    Raises:
        TaamctlError: methods with different numbers of pairs, or a score that is missing or not
            finite.
    """
    table = np.round(_table(scores), DIGITS)
    fixed = np.ptp(table, axis=1) == 0
    found = []
    for (i, first), (k, second) in itertools.combinations(enumerate(scores), 2):
        difference = np.round(table[i] - table[k], DIGITS)
        tested = difference[:1] if seeds_are_pairs and fixed[i] and fixed[k] else difference
        found.append(
            (
                first,
                second,
                t_interval(difference.tolist()),
                len(tested),
                sign_flip_test(tested.tolist()),
            )
        )
    adjusted = holm([p for *_, p in found])
    return [Comparison(*facts, p_holm) for facts, p_holm in zip(found, adjusted, strict=True)]


def standings(
    scores: Mapping[str, Sequence[float]], comparisons: Sequence[Comparison]
) -> list[Standing]:
    """Return the methods from the highest mean to the lowest, each with what is known about it
    against the best.

    A method is `worse` only where its adjusted p against the best is below 0.05; `not
    distinguishable` is no proof of equality, it says that these pairs do not tell the two apart.

    Args:
        scores: per method [P] scores as fractions, the same pairs in the same order for all.
        comparisons: of all pairs of these methods, from `all_pairs`.

    Raises:
        TaamctlError: methods with different numbers of pairs, or a score that is missing or not
            finite.
    """
    ranks = average_ranks(scores)
    summary = {name: t_interval(values) for name, values in scores.items()}
    ordered = sorted(
        scores, key=lambda name: (-round(summary[name].mean, DIGITS), ranks[name], name)
    )
    best = ordered[0]
    out = [Standing(best, summary[best], ranks[best], None, "best")]
    for name in ordered[1:]:
        against = next(c for c in comparisons if {c.first, c.second} == {best, name}).facing(name)
        out.append(
            Standing(
                name,
                summary[name],
                ranks[name],
                against,
                "worse" if against.p_holm < LEVEL else "not distinguishable",
            )
        )
    return out


def top_group(ordered: Sequence[Standing]) -> list[str]:
    """Return the best method and all that are not distinguishable from it, in the order given."""
    return [s.method for s in ordered if s.verdict != "worse"]


def _table(scores: Mapping[str, Sequence[float]]) -> Array:
    """Return [K, P] scores, checked."""
    sizes = {name: len(values) for name, values in scores.items()}
    if len(set(sizes.values())) != 1:
        told = ", ".join(f"{name} has {n} values" for name, n in sizes.items()) or "there are none"
        raise TaamctlError(
            f"methods cannot be paired: {told}",
            "run all of them under the same data sets, orders, splits and seeds",
        )
    return np.array([_numbers(values) for values in scores.values()])


def _numbers(values: Sequence[float]) -> Array:
    """Return [n] float64; a missing value is refused rather than left out, since leaving it out
    would undo the pairing.
    """
    x = np.array([np.nan if v is None else v for v in values], np.float64)
    if not len(x) or not np.isfinite(x).all():
        raise TaamctlError(
            f"no statistics of {list(values)}: "
            + ("a value is missing or not finite" if len(x) else "there is no value"),
            "a score that is not defined cannot be compared; leave that method or data set out",
        )
    return x
