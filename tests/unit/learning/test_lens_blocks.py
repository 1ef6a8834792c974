"""The routers of the lens look at nodes in blocks: the decisions are those of all at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from taamctl.core.types import CSR, Array, QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.routing import routing_lens
from taamctl.learning.routing.routing_lens import QuerySet, Routers, Routing
from taamctl.params.params_file import PACKAGED
from taamctl.params.plugin_params import read
from taamctl.params.sections import Params
from taamctl.params.train_params import InferParams, LensParams

F, N = 6, 40
INFO = StreamInfo(F, ((0, 2), (2, 4), (4, 5)), 2)


def extras(rng: np.random.Generator, x: Array) -> dict[str, Array]:
    rows = CSR.of_dense(x)
    linked = (rng.random((N, N)) < 0.1) | np.eye(N, dtype=bool)
    edges = CSR.of_dense((linked | linked.T).astype(np.float32))
    return {
        **{"x_indptr": rows.indptr, "x_indices": rows.indices, "x_data": rows.data},
        **{"indptr": edges.indptr, "indices": edges.indices},
    }


def decided(rows: int, monkeypatch: pytest.MonkeyPatch) -> list[Routing]:
    monkeypatch.setattr(routing_lens, "ROWS", rows)
    rng = np.random.default_rng(0)
    params = Params("packaged", read(PACKAGED, (), []))
    lens = params.section(LensParams)
    lens = replace(lens, router=replace(lens.router, width=16))

    def task(k: int) -> TaskData:
        low, high = INFO.bounds[k]
        x = (rng.standard_normal((N, F)) + 2 * np.eye(F)[k]).astype(np.float32)
        y = torch.from_numpy(np.arange(N) % (high - low) + low)
        return TaskData(Task(k, low, high), torch.from_numpy(x), y, torch.ones(N), extras(rng, x))

    data = [task(k) for k in range(3)]
    infer = params.section(InferParams)
    prototypes = rng.standard_normal((3, F * len(infer.hops)))
    routers = Routers([lambda k=k: data[k] for k in range(3)], prototypes, INFO, infer, lens, 1)
    queries = tuple(QueryGraph(d.h, d.deg, d.extras) for d in data)
    labels = np.concatenate([d.y.numpy() for d in data])
    return routers.route(QuerySet("grouped", "val", queries, labels, np.repeat([0, 1, 2], N)))


def test_decisions_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, blocks = decided(1 << 16, monkeypatch), decided(7, monkeypatch)
    assert len(whole) == len(blocks) > 5
    assert len(np.unique(whole[-1].choice)) == 3
    for one, other in zip(whole, blocks, strict=True):
        assert np.array_equal(one.choice, other.choice)
        if one.posterior is not None:
            np.testing.assert_allclose(one.posterior, other.posterior, rtol=1e-4, atol=1e-5)
