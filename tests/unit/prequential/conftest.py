"""Small graphs with times, and what replays them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.core.types import Array, Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections
from taamctl.prequential import replay_file
from taamctl.prequential.arrivals import arrivals_of
from taamctl.prequential.replay_file import Prepared
from taamctl.prequential.stream_options import StreamOptions

FAST = ("train.epochs=2", "train.threads=1", "train.device=cpu", "split.symmetrize=always")
FAST += ("bank.router.width=16", "methods.analytic.width=16")
OPTIONS = StreamOptions(4, None, "given", 0, 0.2, 0.1, "retrain", "shown")


@pytest.fixture
def options() -> StreamOptions:
    """Return four snapshots of given times."""
    return OPTIONS


@pytest.fixture
def timed() -> Callable[..., NodeGraph]:
    """Return what draws a graph of 120 nodes whose four classes begin one after the other."""

    def draw(seed: int = 0, time: Array | None = None) -> NodeGraph:
        rng = np.random.default_rng(seed)
        n = 120
        labels = rng.integers(4, size=n)
        labels[:8] = np.arange(8) % 4
        if time is None:
            time = labels * 0.2 + (1 - labels * 0.2) * rng.random(n)
        x = (labels[:, None] == np.arange(6)) + 0.4 * rng.random((n, 6))
        adjacency, _ = adjacency_from_edges(
            rng.integers(0, n, 400), rng.integers(0, n, 400), n, "g"
        )
        names = ("a", "b", "c", "d")
        graph = NodeGraph("g", adjacency, x.astype(np.float32), labels, names)
        return replace(graph, given=Given(time=time))

    return draw


@pytest.fixture
def context() -> SimpleNamespace:
    """Return parameters that take no time."""
    return SimpleNamespace(
        params=sections.Params("test", params_file.read(params_file.PACKAGED, [*FAST]))
    )


@pytest.fixture
def meta() -> SimpleNamespace:
    """Return what a data set says of its reader."""
    return SimpleNamespace(directed=False, unlabelled_as=None, feature_norm="none")


@pytest.fixture
def prepared(context: SimpleNamespace, meta: SimpleNamespace) -> Callable[..., Prepared]:
    """Return what makes a graph ready to be replayed."""

    def make(graph: NodeGraph, asked: StreamOptions = OPTIONS) -> Prepared:
        arrivals = arrivals_of(graph, graph.labels, asked)
        whole = replay_file.whole_graph(context, graph, meta, arrivals)
        return Prepared("g", asked, arrivals, whole, "")

    return make
