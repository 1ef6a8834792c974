"""The graph that drifts: classes begin one after the other, and turn as they are told to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taamctl.core.types import Array, NodeGraph
from taamctl.datasets import drifting
from taamctl.graph.canonical import content_hash

USUAL = drifting.Params(drift=1.0, homophily=0.8, noise=0.0, seed=0)


def days(graph: NodeGraph) -> Array:
    assert graph.given.time is not None
    return graph.given.time


def test_same_parameters_same_graph_and_times() -> None:
    one, other = drifting.load(None, USUAL), drifting.load(None, USUAL)
    assert content_hash(one) == content_hash(other)
    assert np.array_equal(days(one), days(other))
    assert content_hash(drifting.load(None, replace(USUAL, seed=1))) != content_hash(one)


def test_two_classes_are_there_on_the_first_day_and_the_others_follow() -> None:
    graph = drifting.load(None, USUAL)
    begins = sorted(days(graph)[graph.labels == c].min() for c in range(drifting.CLASSES))
    assert begins[:2] == [0, 0]
    assert np.allclose(begins[1:], np.arange(7) * 12.5, atol=3)
    assert 0 <= days(graph).min() <= days(graph).max() < drifting.DAYS


@pytest.mark.parametrize("drift", [0.0, 0.5, 1.0])
def test_means_turn_by_so_many_half_turns(drift: float) -> None:
    graph = drifting.load(None, replace(USUAL, drift=drift))
    own = np.flatnonzero(graph.labels == 0)
    own = own[np.argsort(days(graph)[own])]
    first, last = graph.features[own[0]], graph.features[own[-1]]
    passed = np.pi * drift * (days(graph)[own[-1]] - days(graph)[own[0]]) / drifting.DAYS
    assert float(first @ last) == pytest.approx(np.cos(passed), abs=1e-4)
    assert np.allclose(np.linalg.norm(graph.features, axis=1), 1, atol=1e-5)
