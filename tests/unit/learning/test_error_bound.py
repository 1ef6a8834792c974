"""The appendix's bound against sums written out, and its laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.learning.routing import error_bound
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.train_params import InferParams

PARAMS: InferParams = bind(InferParams, read(PACKAGED)["infer"], "infer", [])


def graph(seed: int, n: int = 23, f: int = 5) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.15, random_state=rng, data_rvs=np.ones)
    edges = ((a + a.T + sp.identity(n)) > 0).astype(float).tocsr()
    return sp.csr_matrix(rng.normal(size=(n, f)).astype(np.float32)), edges


def test_spread_is_that_of_profiles_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_bound, "COLUMNS", 2)
    x, edges = graph(0)
    found = error_bound.task_spread(x, edges, PARAMS)
    root = np.diag(np.asarray(edges.sum(1)).ravel() ** -0.5)
    s = root @ edges.toarray() @ root
    raw = x.toarray().astype(np.float64)
    parts = []
    for level, weight in sorted(PARAMS.hops.items()):
        z = raw
        for _ in range(level):
            z = PARAMS.alpha * raw + (1 - PARAMS.alpha) * s @ z
        parts.append(weight * z)
    profile = np.hstack(parts)
    mean = profile.mean(0)
    assert found.prototype == pytest.approx(mean)
    assert found.v_intra == pytest.approx(((profile - mean) ** 2).sum(1).mean())
    assert found.v_raw == pytest.approx(((raw - raw.mean(0)) ** 2).sum(1).mean())
    smooth = s @ s @ raw
    for z, energy in ((raw, found.energy), (smooth, found.energy_smooth)):
        assert energy == pytest.approx(np.trace(z.T @ (np.eye(len(s)) - s) @ z) / (z**2).sum())


def test_the_bound_falls_as_tasks_part_and_says_nothing_of_equal_ones() -> None:
    x, edges = graph(1)
    one = error_bound.task_spread(x, edges, PARAMS)
    same = error_bound.separations([one, one])
    assert [(s.nearest, s.d_inter, s.bound) for s in same] == [(1, 0.0, 1.0), (0, 0.0, 1.0)]
    bounds = []
    for shift in (1.0, 10.0, 100.0):
        moved = sp.csr_matrix(x.toarray() + np.float32(shift))
        there = error_bound.task_spread(moved, edges, PARAMS)
        bounds.append(error_bound.separations([one, there])[0].bound)
    assert bounds[0] > bounds[1] > bounds[2]
    far = error_bound.separations([one, there])[0]
    assert far.bound == pytest.approx(math.exp(-(far.d_inter**2) / 8 / one.v_intra))
    assert error_bound.separations([one]) == []


def test_features_that_are_all_zero_have_no_energy_and_no_spread() -> None:
    x, edges = graph(2)
    none = error_bound.task_spread(x * 0, edges, PARAMS)
    assert (none.v_intra, none.energy, none.energy_smooth) == (0.0, 0.0, 0.0)
    assert error_bound.separations([none, none])[0].bound == 1.0
