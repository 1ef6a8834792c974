"""Numbers of several runs as one. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from taamctl.evaluation.record import Number, number, numbers


def mean_std(values: Sequence[Number]) -> tuple[Number, Number]:
    """Return the mean and the population standard deviation; None for both where a value is
    missing.
    """
    known = np.array(values, np.float64)
    if not len(known):
        return None, None
    return number(known.mean()), number(known.std())


def means(lists: Sequence[Sequence[Number]]) -> list[Number]:
    """Return the mean of every place of lists of one length; empty where their lengths differ."""
    if len({len(values) for values in lists}) != 1 or not lists[0]:
        return []
    stacked = np.array(lists, np.float64)  # None becomes NaN
    return numbers(stacked.mean(axis=0))


def added(lists: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """Return the sums of counts of pairs, [first, second, count], most first, then in order."""
    sums = Counter[tuple[int, int]]()
    for counts in lists:
        for first, second, count in counts:
            sums[first, second] += count
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return [[first, second, count] for (first, second), count in ordered]
