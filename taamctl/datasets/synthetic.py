"""Synthetic graphs of any seed: a degree-corrected stochastic block model with Gaussian features, made in memory.

Class sizes follow a truncated Zipf law, node activities a power law (heavy-tailed degrees). An edge takes its first end
by activity, then with probability `homophily` a second end of the same class, else of another, nearer ones likelier.
Features are a class mean of length 1 plus Gaussian noise. The presets `arxiv` and `products` have the sizes of those
OGB graphs and nothing else of them. Source: Karrer, Newman 2011 (cited below); here the number of edges is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, NodeGraph
from taamctl.datasets._meta import Meta
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.raw import default_class_names

SIZES = {  # nodes, undirected edges, features, classes
    "tiny": (2_000, 8_000, 16, 10),
    "arxiv": (169_343, 1_166_243, 128, 40),
    "products": (2_449_029, 61_859_140, 100, 47),
}
SKEW, SMALLEST = 1.1, 30  # Zipf exponent of the class sizes; nodes that every class has
TAIL, REACH = 2.6, 3.0  # power-law exponent of the activities; how far in class index other-class edges reach
BLOCK = 4_000_000  # edges drawn at once


@dataclass(frozen=True)
class Params:
    """What the generated graph depends on."""

    preset: str = param("size: tiny (2,000 nodes), or that of ogbn-arxiv or ogbn-products", choices=tuple(SIZES))
    homophily: float = param("probability in [0, 1] that an edge joins two nodes of one class", ge=0, le=1)
    noise: float = param("standard deviation of every feature, in units of the class means' length", ge=0)
    seed: int = param("seed of the generator, an integer >= 0", ge=0)


META = Meta(
    nodes=-1, edges=-1, features=-1, classes=-1,
    licence="none: generated",
    citation="Karrer, Newman (2011). Stochastic blockmodels and community structure in networks. Physical Review E.",
    homepage="",
    order="as generated: random, unrelated to class and degree",
    params=Params,
)


def load(root: Path | None, params: Params) -> NodeGraph:
    """Return the graph that `params` describe: same arguments, same bytes.

    Args:
        root: not used.
        params: preset, homophily, noise, seed.

    Returns:
        A graph with every undirected edge stored once, u -> v with u < v; features [N, F] float32, dense.
    """
    nodes, edges, features, classes = SIZES[params.preset]
    rng = numpy_generator(params.seed, "synthetic/labels")
    names = rng.permutation(classes)  # a class id says nothing about the class size
    labels = rng.permutation(np.repeat(names, class_sizes(nodes, classes)))
    source, target = np.divmod(_draw_edges(labels, edges, classes, params), nodes)
    adjacency, notes = adjacency_from_edges(source, target, nodes, "synthetic")
    x = _features(labels, classes, features, params)
    return NodeGraph("synthetic", adjacency, x, labels, default_class_names(classes), notes)


def class_sizes(nodes: int, classes: int) -> Array:
    """Return [C] int64 class sizes that sum to `nodes`: Zipf, but no class under the smallest size."""
    weight = (1.0 + np.arange(classes)) ** -SKEW
    sizes: Array = SMALLEST + np.floor((nodes - SMALLEST * classes) * weight / weight.sum()).astype(np.int64)
    sizes[0] += nodes - sizes.sum()
    return sizes


class _Sampler:
    """Draw nodes of given classes, or classes themselves, with probability proportional to the activity."""

    def __init__(self, labels: Array, activity: Array, classes: int) -> None:
        self.order: Array = np.argsort(labels, kind="stable")
        self.cumulative = np.concatenate([[0.0], np.cumsum(activity[self.order])])
        self.bounds = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=classes))])
        self.mass = np.diff(self.cumulative[self.bounds])
        distance = np.abs(np.arange(classes)[:, None] - np.arange(classes))
        affinity = np.round(np.exp(-np.minimum(distance, classes - distance) / REACH), 9) * self.mass
        np.fill_diagonal(affinity, 0.0)
        chances = np.cumsum(affinity / affinity.sum(1, keepdims=True), axis=1)
        self.ladder = (chances + np.arange(classes)[:, None]).ravel()  # row c climbs from c to c + 1: one search

    def classes(self, draws: Array) -> Array:
        at = np.searchsorted(np.cumsum(self.mass / self.mass.sum()), draws, side="right")
        return np.asarray(np.minimum(at, len(self.mass) - 1))

    def other_classes(self, own: Array, draws: Array) -> Array:
        at = np.searchsorted(self.ladder, own + draws, side="right") - own * len(self.mass)
        return np.asarray(np.clip(at, 0, len(self.mass) - 1))

    def nodes(self, classes: Array, draws: Array) -> Array:
        low = self.cumulative[self.bounds[classes]]
        at = np.searchsorted(self.cumulative, low + draws * self.mass[classes], side="right") - 1
        return np.asarray(self.order[np.clip(at, self.bounds[classes], self.bounds[classes + 1] - 1)])


def _draw_edges(labels: Array, edges: int, classes: int, params: Params) -> Array:
    """Return exactly `edges` sorted keys u * N + v with u < v: duplicates and self-loops are drawn again."""
    rng = numpy_generator(params.seed, "synthetic/edges")
    uniform = 1.0 - numpy_generator(params.seed, "synthetic/activity").random(len(labels))
    activity = np.minimum(uniform ** (-1.0 / (TAIL - 1.0)), len(labels) ** 0.5)
    sampler = _Sampler(labels, np.round(activity, 6), classes)  # rounded: pow() differs in the last digit between CPUs
    keys = np.empty(0, np.int64)
    while len(keys) < edges:
        wanted = int((edges - len(keys)) * 1.03) + 1000
        blocks = [_block(sampler, min(BLOCK, wanted - at), params.homophily, rng) for at in range(0, wanted, BLOCK)]
        fresh = _without_repeats(np.sort(np.concatenate(blocks)), keys)
        surplus = len(fresh) - (edges - len(keys))
        if surplus > 0:  # drop at random, not the largest keys
            fresh = np.delete(fresh, rng.choice(len(fresh), surplus, replace=False))
        keys = np.sort(np.concatenate([keys, fresh]), kind="stable")
    return keys


def _block(sampler: _Sampler, count: int, homophily: float, rng: np.random.Generator) -> Array:
    first = sampler.classes(rng.random(count))
    u = sampler.nodes(first, rng.random(count))
    second = np.where(rng.random(count) < homophily, first, sampler.other_classes(first, rng.random(count)))
    v = sampler.nodes(second, rng.random(count))
    keys: Array = np.minimum(u, v) * len(sampler.order) + np.maximum(u, v)
    return np.asarray(keys[u != v])


def _without_repeats(fresh: Array, known: Array) -> Array:
    """Return the sorted keys `fresh` without repeats and without those in the sorted `known`."""
    fresh = fresh[np.concatenate([[True], fresh[1:] != fresh[:-1]])]
    near = np.minimum(np.searchsorted(known, fresh), len(known) - 1)
    return fresh[known[near] != fresh] if len(known) else fresh


def _features(labels: Array, classes: int, width: int, params: Params) -> Array:
    means: Array = numpy_generator(params.seed, "synthetic/means").standard_normal((classes, width))
    means = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    x: Array = numpy_generator(params.seed, "synthetic/noise").standard_normal((len(labels), width), dtype=np.float32)
    x *= np.float32(params.noise)
    for label in range(classes):
        x[labels == label] += means[label]
    return x
