"""Synthetic graphs of any seed: a degree-corrected stochastic block model with Gaussian features,
made in memory.

Class sizes follow a truncated Zipf law, node activities a power law (heavy-tailed degrees). An edge
takes its first end by activity, then with probability `homophily` a second end of the same class,
else of another, nearer ones likelier. Features are a class mean of length 1 plus Gaussian noise.
The presets `arxiv` and `products` have the sizes of those OGB graphs and nothing else of them.
Source: Karrer, Newman 2011 (cited below); here the number of edges is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.rows import FeatureRows, block_rows
from taamctl.core.seeding import numpy_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, NodeGraph
from taamctl.datasets._meta import Meta
from taamctl.graph.block_model import draw_edges
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.raw_values import default_class_names

SIZES = {  # nodes, undirected edges, features, classes
    "tiny": (2_000, 8_000, 16, 10),
    "arxiv": (169_343, 1_166_243, 128, 40),
    "products": (2_449_029, 61_859_140, 100, 47),
}
SKEW, SMALLEST = 1.1, 30  # Zipf exponent of the class sizes; nodes that every class has


@dataclass(frozen=True)
class Params:
    """What the generated graph depends on."""

    preset: str = param(
        "size: tiny (2,000 nodes), or that of ogbn-arxiv or ogbn-products", choices=tuple(SIZES)
    )
    homophily: float = param(
        "probability in [0, 1] that an edge joins two nodes of one class", ge=0, le=1
    )
    noise: float = param(
        "standard deviation of every feature, in units of the class means' length", ge=0
    )
    seed: int = param("seed of the generator, an integer >= 0", ge=0)


META = Meta(
    nodes=-1,
    edges=-1,
    features=-1,
    classes=-1,
    licence="none: generated",
    citation="Karrer, Newman (2011). Stochastic blockmodels and community structure in networks. "
    "Physical Review E.",
    homepage="",
    order="as generated: random, unrelated to class and degree",
    params=Params,
)


def load(root: Path | None, params: Params) -> NodeGraph:
    """Return the graph that `params` describe: same arguments, same bytes.

    Returns:
        A graph with every undirected edge stored once, u -> v with u < v; features [N, F] float32,
        dense.
    """
    nodes, edges, width, classes = SIZES[params.preset]
    labels = _labels(params)
    keys = draw_edges(labels, edges, classes, params.homophily, params.seed)
    source = (keys // nodes).astype(np.int32)
    keys -= source.astype(np.int64) * nodes
    target = keys.astype(np.int32)
    del keys
    adjacency, notes = adjacency_from_edges(source, target, nodes, "synthetic")
    x, low = np.empty((nodes, width), np.float32), 0
    for block in _features(labels, classes, width, params):
        x[low : low + len(block)] = block
        low += len(block)
    return NodeGraph("synthetic", adjacency, x, labels, default_class_names(classes), notes)


def features(root: Path | None, params: Params) -> FeatureRows:
    """Return the features of that graph row by row; no edge is drawn for them."""
    nodes, _, width, classes = SIZES[params.preset]
    return FeatureRows((nodes, width), lambda: _features(_labels(params), classes, width, params))


def _labels(params: Params) -> Array:
    nodes, _, _, classes = SIZES[params.preset]
    rng = numpy_generator(params.seed, "synthetic/labels")
    names = rng.permutation(classes)  # a class id says nothing about the class size
    labels: Array = rng.permutation(np.repeat(names, class_sizes(nodes, classes)))
    return labels


def class_sizes(nodes: int, classes: int) -> Array:
    """Return [C] int64 class sizes that sum to `nodes`: Zipf, but no class under the smallest
    size.
    """
    weight = (1.0 + np.arange(classes)) ** -SKEW
    sizes: Array = SMALLEST + np.floor((nodes - SMALLEST * classes) * weight / weight.sum()).astype(
        np.int64
    )
    sizes[0] += nodes - sizes.sum()
    return sizes


def _features(labels: Array, classes: int, width: int, params: Params) -> Iterator[Array]:
    """Yield the rows in blocks: the generator draws the same numbers in however many calls."""
    means: Array = numpy_generator(params.seed, "synthetic/means").standard_normal((classes, width))
    means = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    noise, step = numpy_generator(params.seed, "synthetic/noise"), block_rows(width)
    for low in range(0, len(labels), step):
        own = labels[low : low + step]
        x: Array = noise.standard_normal((len(own), width), dtype=np.float32)
        x *= np.float32(params.noise)
        x += means[own]
        yield x
