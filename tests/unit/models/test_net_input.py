"""Sparse and dense products of a trained net are the same function, and so are its gradients."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional

from taamctl.models import net_input
from taamctl.models.backbones import Mlp, TrainableNet
from taamctl.models.net_input import NetInput
from taamctl.propagation.stored_entries import BothWays


def _rows(density: float, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    h = rng.random((40, 30)) * (rng.random((40, 30)) < density)
    h[3] = 0  # a node without features
    h[:, 5] = 0  # a feature that no node has
    return torch.from_numpy(h.astype(np.float32))


@pytest.mark.parametrize("density", [0.0, 0.02, 0.2, 0.6, 1.0])
def test_a_net_answers_and_learns_alike_by_stored_entries_and_by_dense_rows(density: float) -> None:
    h = _rows(density)
    inputs = NetInput.of(h)
    assert (inputs.entries is not None) == (density < net_input.SPARSE)
    for draw in (
        lambda: TrainableNet.draw(30, 4, 1, torch.device("cpu")),
        lambda: Mlp.draw([30, 16, 4], torch.Generator().manual_seed(1), torch.device("cpu")),
    ):
        made = []
        for given in (h, inputs):
            net = draw()
            logits = net.logits(given, 3)
            functional.cross_entropy(logits, torch.arange(40) % 3).backward()
            made.append([logits.detach(), *(p.grad for p in net.parameters())])
        for dense, sparse in zip(*made, strict=True):
            assert dense is not None and sparse is not None
            assert torch.allclose(dense, sparse, atol=1e-6)


def test_some_rows_of_an_input_are_the_rows_themselves() -> None:
    h = _rows(0.1)
    inputs = NetInput.of(h)
    batch = inputs[torch.tensor([7, 2])]
    assert isinstance(batch, torch.Tensor)
    assert torch.equal(batch, h[[7, 2]])
    assert inputs[:] is inputs
    assert len(inputs) == 40


def test_a_product_is_differentiated_twice() -> None:
    both = BothWays.of(sp.csr_matrix(_rows(0.2).numpy()))
    dense = torch.rand(30, 2, generator=torch.Generator().manual_seed(0), requires_grad=True)
    (first,) = torch.autograd.grad((both.times(dense) ** 3).sum(), dense, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), dense)
    h = _rows(0.2)
    (wanted,) = torch.autograd.grad(((h @ dense) ** 3).sum(), dense, create_graph=True)
    (twice,) = torch.autograd.grad((wanted**2).sum(), dense)
    assert torch.allclose(first, wanted, rtol=1e-4)
    assert torch.allclose(second, twice, rtol=1e-4)
