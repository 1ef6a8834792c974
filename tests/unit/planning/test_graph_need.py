"""What a whole graph needs of memory, by its laws."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.units import MIB
from taamctl.params.train_params import RidgeParams
from taamctl.planning import counts, graph_need
from taamctl.planning.graph_need import GraphWork

ROUTER = RidgeParams({0: 1.0, 2: 1.0}, 1400, 4096, views=True, exponent=0.5, ridge=None)
GRAPH = counts.given(10**6, 10**7, 100, 40)
WORK = GraphWork(0.5, 3, ROUTER, 20, experts=True)


def test_more_of_anything_needs_no_less() -> None:
    need = graph_need.needed(GRAPH, WORK)
    for more in ({"nodes": 2 * 10**6}, {"features": 200}, {"stored": 10**8}):
        assert graph_need.needed(replace(GRAPH, **more), WORK) > need
    for work in (replace(WORK, copies=9), replace(WORK, sums=40), replace(WORK, rows=1.0)):
        assert graph_need.needed(GRAPH, work) > need
    assert graph_need.needed(GRAPH, replace(WORK, experts=False)) < need
    sparse = replace(GRAPH, filled=0.01)
    assert graph_need.needed(sparse, WORK) < need
    assert graph_need.needed(replace(sparse, dense=True), WORK) == need


def test_what_the_hint_allows_is_enough() -> None:
    need = graph_need.needed(GRAPH, WORK)
    graph_need.require("learning", GRAPH, WORK, int(need) + 1)
    limit = int(need * np.random.default_rng(0).uniform(0.1, 0.9))
    with pytest.raises(TaamctlError, match="learning given needs about") as refused:
        graph_need.require("learning", GRAPH, WORK, limit)
    enough = re.search(r"--max-memory (\d+)M", refused.value.hint)
    assert enough is not None
    graph_need.require("learning", GRAPH, WORK, int(enough[1]) * MIB)
