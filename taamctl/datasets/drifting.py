"""A small graph that grows and changes: nodes arrive day by day, classes begin one after the other,
and what a class looks like turns with time.

The mean of a class lies on a circle of radius 1 in the plane of two random directions of its own;
from the first day to the last it turns by `drift` half-turns. Edges are those of a degree-corrected
block model, whenever their ends arrive. Source: the edges as in `synthetic`; the drift is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, Given, NodeGraph
from taamctl.datasets._meta import Meta
from taamctl.graph.block_model import draw_edges
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.graph.raw_values import default_class_names

NODES, EDGES, FEATURES, CLASSES = 3_000, 9_000, 32, 8
SIZES = {"": (NODES, EDGES, FEATURES, CLASSES)}  # there is one size
DAYS = 100
STATES = ("time",)


@dataclass(frozen=True)
class Params:
    """What the generated graph depends on."""

    drift: float = param(
        "half-turns of every class's mean from the first day to the last; 0 = no drift", ge=0, le=2
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
    citation="taamctl: a block model whose class means turn with time.",
    homepage="",
    order="as generated: random, unrelated to class and time",
    params=Params,
)


def load(root: Path | None, params: Params) -> NodeGraph:
    """Return the graph that `params` describe: same arguments, same bytes.

    Returns:
        3,000 nodes of 8 classes with the day of each from 0 to 99 as its time, 9,000 undirected
        edges stored once, features [N, 32] float32, dense.
    """
    rng = numpy_generator(params.seed, "drifting/labels")
    labels: Array = rng.integers(CLASSES, size=NODES)
    begins = DAYS * np.maximum(rng.permutation(CLASSES) - 1, 0) // CLASSES  # two on the first day
    time = begins[labels] + np.floor((DAYS - begins[labels]) * rng.random(NODES))
    keys = draw_edges(labels, EDGES, CLASSES, params.homophily, params.seed)
    adjacency, notes = adjacency_from_edges(keys // NODES, keys % NODES, NODES, "drifting")
    x = _features(labels, time, params)
    given = Given(time=time)
    return NodeGraph("drifting", adjacency, x, labels, default_class_names(CLASSES), notes, given)


def _features(labels: Array, time: Array, params: Params) -> Array:
    """Return class means of each day plus noise, [N, 32] float32."""
    drawn = numpy_generator(params.seed, "drifting/means").standard_normal((CLASSES, 2, FEATURES))
    start, end = drawn[:, 0], drawn[:, 1]
    start = start / np.linalg.norm(start, axis=1, keepdims=True)
    end = end - (end * start).sum(1, keepdims=True) * start
    end = end / np.linalg.norm(end, axis=1, keepdims=True)
    angle = np.pi * params.drift * time[:, None] / DAYS
    means = np.cos(angle) * start[labels] + np.sin(angle) * end[labels]
    noise = numpy_generator(params.seed, "drifting/noise").standard_normal((NODES, FEATURES))
    return np.asarray(means + params.noise * noise, np.float32)
