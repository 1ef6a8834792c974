"""Two threads learn the same bits again and again, on a graph that is large enough to be shared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from taamctl.core import registry
from taamctl.core.types import StreamInfo, Task, TaskData
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.train_params import TrainParams
from taamctl.propagation import group_graph

N, F, CLASSES, DEGREE = 1000, 16, 8, 80
SHORT = {"tpp": {"pretrain_epochs": 1}}
READING_EDGES = ("analytic", "ergnn", "gpf", "pdgnns", "ssm", "tpp", "twp")
TRAIN = TrainParams(
    epochs=2, lr=0.01, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=2
)


@pytest.fixture(scope="module")
def data() -> TaskData:
    """Return a task whose nodes are picked many times over by its edges."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, N, (2, N * DEGREE // 2))
    a = sp.coo_matrix((np.ones(ends.shape[1]), tuple(ends)), (N, N)).tocsr()
    a = sp.csr_matrix((a + a.T + sp.identity(N)) > 0).astype(np.float32)
    x = sp.csr_matrix(rng.random((N, F), np.float32))
    extras = {
        "x_indptr": x.indptr.astype(np.int64),
        "x_indices": x.indices.astype(np.int32),
        "x_data": x.data,
        "indptr": a.indptr.astype(np.int64),
        "indices": a.indices.astype(np.int32),
    }
    return TaskData(
        Task(0, 0, CLASSES),
        group_graph.propagate_rows(a, torch.from_numpy(x.toarray()), 2),
        torch.from_numpy(rng.integers(0, CLASSES, N)),
        torch.from_numpy(np.asarray(a.sum(1)).ravel().astype(np.float32)),
        extras,
    )


@pytest.fixture
def pinned() -> Iterator[None]:
    """Pin two threads for the test."""
    threads, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    devices.pin(torch.device("cpu"), TRAIN.threads)
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode("warn" if exact else "default")


def made(name: str) -> Method:
    """Return a new model of a method."""
    module = registry.load("taamctl.methods", name)
    faults: list[str] = []
    own = bind(
        module.Params, {**read(PACKAGED)["methods"][name], **SHORT.get(name, {})}, name, faults
    )
    assert not faults
    info = StreamInfo(F, ((0, CLASSES),))
    model: Method = module.Method(own, info, TRAIN, 1, torch.device("cpu"))
    return model


@pytest.mark.usefixtures("pinned")
@pytest.mark.parametrize("name", READING_EDGES)
def test_a_method_that_reads_edges_learns_the_same_bits(name: str, data: TaskData) -> None:
    found = []
    for _ in range(3):
        method = made(name)
        method.learn([data])
        found.append({**method.state(), **method.training_state()})
    for again in found[1:]:
        assert again.keys() == found[0].keys()
        assert all(np.array_equal(again[key], value) for key, value in found[0].items())
