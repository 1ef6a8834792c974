"""A given number of edges of a degree-corrected stochastic block model with heavy-tailed degrees.

Source: Karrer, Newman (2011). Stochastic blockmodels and community structure in networks. PRE 83.
"""

from __future__ import annotations

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array

TAIL = 2.6  # power-law exponent of the activities
REACH = 3.0  # how far in class index other-class edges reach
BLOCK = 4_000_000  # edges drawn at once; fixed, because the draws of a block come from one stream


class _Sampler:
    """Draw nodes of given classes, or classes themselves, in proportion to their activity."""

    def __init__(self, labels: Array, activity: Array, classes: int) -> None:
        self.order: Array = np.argsort(labels, kind="stable")
        self.cumulative = np.concatenate([[0.0], np.cumsum(activity[self.order])])
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=classes))])
        self.mass = np.diff(self.cumulative[self.bounds])
        distance = np.abs(np.arange(classes)[:, None] - np.arange(classes))
        nearness = np.exp(-np.minimum(distance, classes - distance) / REACH)
        affinity = np.round(nearness, 9) * self.mass
        np.fill_diagonal(affinity, 0.0)
        chances = np.cumsum(affinity / affinity.sum(1, keepdims=True), axis=1)
        # row c climbs from c to c + 1: one search
        self.ladder = (chances + np.arange(classes)[:, None]).ravel()

    def classes(self, draws: Array) -> Array:
        at = np.searchsorted(np.cumsum(self.mass / self.mass.sum()), draws, side="right")
        return np.asarray(np.minimum(at, len(self.mass) - 1))

    def other_classes(self, own: Array, draws: Array) -> Array:
        at = np.searchsorted(self.ladder, own + draws, side="right") - own * len(self.mass)
        return np.asarray(np.clip(at, 0, len(self.mass) - 1))

    def nodes(self, classes: Array, draws: Array) -> Array:
        low = self.cumulative[self.bounds[classes]]
        at = _search(self.cumulative, low + draws * self.mass[classes]) - 1
        inside = np.clip(at, self.bounds[classes], self.bounds[classes + 1] - 1)
        return np.asarray(self.order[inside])


def draw_edges(labels: Array, edges: int, classes: int, homophily: float, seed: int) -> Array:
    """Return `edges` sorted keys u * N + v, u < v; duplicates and self-loops are drawn again."""
    rng = numpy_generator(seed, "synthetic/edges")
    uniform = 1.0 - numpy_generator(seed, "synthetic/activity").random(len(labels))
    activity = np.minimum(uniform ** (-1.0 / (TAIL - 1.0)), len(labels) ** 0.5)
    # rounded: pow() differs in the last digit between CPUs
    sampler = _Sampler(labels, np.round(activity, 6), classes)
    keys = np.empty(0, np.int64)
    while len(keys) < edges:
        wanted = int((edges - len(keys)) * 1.03) + 1000
        drawn = np.empty(wanted, np.int64)
        have = 0
        for at in range(0, wanted, BLOCK):
            block = _block(sampler, min(BLOCK, wanted - at), homophily, rng)
            drawn[have : have + len(block)] = block
            have += len(block)
        drawn[:have].sort()
        fresh = _without_repeats(drawn[:have], keys)
        del drawn
        surplus = len(fresh) - (edges - len(keys))
        if surplus > 0:  # drop at random, not the largest keys
            fresh = np.delete(fresh, rng.choice(len(fresh), surplus, replace=False))
        keys = np.concatenate([keys, fresh]) if len(keys) else fresh
        keys.sort()
    return keys


def _search(ascending: Array, values: Array) -> Array:
    """Count the ascending numbers that are at most each of `values`; sorted ones spare the cache
    (three times as fast).
    """
    order = np.argsort(values)
    found = np.empty(len(values), np.int64)
    found[order] = np.searchsorted(ascending, values[order], side="right")
    return found


def _block(sampler: _Sampler, count: int, homophily: float, rng: np.random.Generator) -> Array:
    first = sampler.classes(rng.random(count))
    u = sampler.nodes(first, rng.random(count))
    same = rng.random(count) < homophily
    second = np.where(same, first, sampler.other_classes(first, rng.random(count)))
    v = sampler.nodes(second, rng.random(count))
    keys: Array = np.minimum(u, v) * len(sampler.order) + np.maximum(u, v)
    return np.asarray(keys[u != v])


def _without_repeats(fresh: Array, known: Array) -> Array:
    """Return the sorted keys `fresh` without repeats and without those in the sorted `known`."""
    fresh = fresh[np.concatenate([[True], fresh[1:] != fresh[:-1]])]
    if not len(known):
        return fresh
    near = np.minimum(np.searchsorted(known, fresh), len(known) - 1)
    return np.asarray(fresh[known[near] != fresh])
