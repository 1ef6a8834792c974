from __future__ import annotations

import dataclasses
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT
from taamctl.learning.contract import device
from taamctl.learning.kernels import loop, loss
from taamctl.learning.kernels.adam import Adam
from taamctl.learning.routing import task_id
from taamctl.params.train_params import InferParams, TrainParams

TRAIN = TrainParams(
    epochs=3, lr=0.01, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=1
)
AMP = InferParams(
    profile="amp",
    hops={0: 1.0, 2: 1.0},
    alpha=0.1,
    metric="cosine",
    ls_trailing_norm=True,
    router="prototype",
)


def test_balanced_loss_equals_torch_with_class_weights() -> None:
    logits, y = torch.randn(20, 4), torch.tensor([0] * 12 + [1] * 5 + [3] * 3)
    weights = torch.tensor([1 / 12, 1 / 5, 1.0, 1 / 3])
    want = functional.cross_entropy(logits, y, weight=weights)
    assert torch.allclose(
        loss.weighted_cross_entropy(logits, y, loss.node_weights(y, 4, True)), want
    )
    plain = loss.weighted_cross_entropy(logits, y, loss.node_weights(y, 4, False))
    assert torch.allclose(plain, functional.cross_entropy(logits, y))


def _least_squares(train: TrainParams) -> tuple[torch.Tensor, np.ndarray, Adam]:
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(32, 3, generator=g), torch.randn(32, generator=g)
    w = torch.zeros(3, requires_grad=True)
    optimiser = loop.adam([w], train)

    def objective(rows: loop.Rows) -> torch.Tensor:
        return ((x[rows] @ w - y[rows]) ** 2).mean()

    history = loop.fit(optimiser, objective, 32, train=train, seed=0, task=0, progress=SILENT)
    return w.detach(), history, optimiser


def test_full_batch_steps_equal_plain_adam() -> None:
    w, history, _ = _least_squares(TRAIN)
    assert history.shape == (3,)
    assert (np.diff(history) < 0).all()
    batched, _, _ = _least_squares(dataclasses.replace(TRAIN, node_batch=8))
    assert not torch.equal(w, batched)
    whole, _, _ = _least_squares(dataclasses.replace(TRAIN, node_batch=32))
    assert torch.equal(w, whole), "one batch of all rows is a full batch"


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_adam_equals_torchs_own_in_every_bit(weight_decay: float) -> None:
    g = torch.Generator().manual_seed(0)
    starts, target = (
        [torch.randn(5, 3, generator=g), torch.randn(3, generator=g), torch.randn(2, generator=g)],
        torch.randn(5, generator=g),
    )
    results = []
    for make in (Adam, partial(torch.optim.Adam, fused=True)):
        ours = [t.clone().requires_grad_() for t in starts]  # the last one never has a gradient
        optimiser = make(ours, 0.05, weight_decay=weight_decay)
        for _ in range(20):
            optimiser.zero_grad()
            ((ours[0] @ ours[1] - target) ** 2).sum().backward()
            optimiser.step()
        results.append([t.detach() for t in ours])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    assert torch.equal(results[0][2], starts[2])


def test_training_does_not_import_torchs_compiler() -> None:
    code = (
        "import sys, torch\n"
        "from taamctl.learning.kernels.adam import Adam\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "optimiser = Adam([w], lr=0.1)\n"
        "(w ** 2).sum().backward()\n"
        "optimiser.step()\n"
        "print('torch._dynamo' in sys.modules, w.tolist())\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("False"), out.stdout


def test_optimiser_state_survives_a_round_trip() -> None:
    _, _, optimiser = _least_squares(TRAIN)
    arrays = loop.optimiser_state(optimiser)
    fresh = loop.adam([torch.zeros(3, requires_grad=True)], TRAIN)
    loop.restore_optimiser(fresh, arrays)
    again = loop.optimiser_state(fresh)
    assert arrays.keys() == again.keys()
    assert any(a.any() for a in arrays.values())
    assert all(np.array_equal(arrays[k], again[k]) for k in arrays)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("hop", [0, 1, 2, 5])
def test_amp_weights_equal_the_recursion(alpha: float, hop: int) -> None:
    rng = np.random.default_rng(0)
    s, x = rng.random((6, 6)), rng.random((6, 3))
    z, powers = x, [x]
    for _ in range(hop):
        z = (1 - alpha) * s @ z + alpha * x
        powers.append(s @ powers[-1])
    means = np.stack([p.mean(0) for p in powers])
    assert np.allclose(task_id.amp_weights(hop, alpha) @ means, z.mean(0), atol=1e-12)


def test_amp_corner_cases() -> None:
    hops = np.random.default_rng(1).random((11, 4))
    ls = np.zeros((2, 4))
    assert np.allclose(
        task_id.profile(hops, ls, dataclasses.replace(AMP, alpha=1.0)), np.tile(hops[0], 2)
    )
    assert np.allclose(
        task_id.profile(hops, ls, dataclasses.replace(AMP, alpha=0.0, hops={2: 1.0})), hops[2]
    )
    assert np.allclose(task_id.profile(hops, ls, dataclasses.replace(AMP, profile="mean")), hops[0])
    reordered = dataclasses.replace(AMP, hops={2: 1.0, 0: 1.0})
    assert np.array_equal(task_id.profile(hops, ls, AMP), task_id.profile(hops, ls, reordered))
    with pytest.raises(TaamctlError, match="asks for hop 12, precompute stored hops up to 10"):
        task_id.profile(hops, ls, dataclasses.replace(AMP, hops={12: 1.0}))
    with pytest.raises(TaamctlError, match="at least one hop"):
        dataclasses.replace(AMP, hops={})


def test_decisions_use_seen_tasks_only() -> None:
    prototypes = np.eye(3)
    queries = np.array([[1.0, 0, 0], [0.1, 0.9, 1.0], [0, 0, 1.0]])
    made = task_id.decide(queries, prototypes, "cosine")
    assert made.choice.tolist() == [[0, -1, -1], [0, 1, -1], [0, 2, 2]]
    assert np.isnan(made.similarity[1, 0, 2])
    assert np.isnan(made.margin[0, 0])
    assert made.margin[2, 0] == pytest.approx(1.0)
    nothing = task_id.decide(np.full((3, 3), np.nan), prototypes, "euclid")
    assert (nothing.choice == -1).all()
    assert task_id.given(3).choice.tolist() == [[0, -1, -1], [0, 1, -1], [0, 1, 2]]


def test_euclid_takes_the_nearest_and_cosine_ignores_length() -> None:
    prototypes = np.array([[1.0, 0], [10.0, 1.0]])
    assert task_id.similarity(np.array([1.0, 0.1]), prototypes, "euclid").argmax() == 0
    assert task_id.similarity(np.array([1.0, 0.1]), prototypes, "cosine").argmax() == 1
    assert task_id.similarity(np.zeros(2), prototypes, "cosine").tolist() == [-1, -1]


def test_cuda_is_refused_where_there_is_none() -> None:
    if torch.cuda.is_available():
        assert device.resolve("auto").type == "cuda"
    else:
        with pytest.raises(TaamctlError, match="sees no CUDA device"):
            device.resolve("cuda")
        assert device.resolve("auto").type == "cpu"
