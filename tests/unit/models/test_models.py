from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch.nn import functional

from taamctl.core.seeding import torch_generator
from taamctl.models import backbones, heads, modulators

F, N = 40, 50


def _weights(full: bool, dtype: torch.dtype = torch.float64) -> modulators.Weights:
    generator = torch_generator(0, "t")
    drawn = (
        modulators.draw_full(F, 6, 2, generator)
        if full
        else modulators.draw_low_rank(F, 6, 2, 4, generator)
    )
    return {n: w.to(dtype) for n, w in drawn.items()}


def test_modulate_follows_the_equations_written_out(support: ModuleType) -> None:
    weights = _weights(False)
    h = torch.rand(3, F, dtype=torch.float64)
    gamma, beta = modulators.modulation(weights)
    u = (weights["wa"] @ weights["e"] + weights["wa_bias"]).reshape(2, 4)
    m = u @ weights["wb"]
    assert torch.equal(torch.cat([gamma, beta], 1), m)
    for i in range(3):
        a = torch.softmax(weights["watt"] @ h[i] + weights["watt_bias"], 0)
        mean, var = h[i].mean(), h[i].var(unbiased=False)
        want = (a @ gamma) * (h[i] - mean) / torch.sqrt(var + 1e-5) + a @ beta + h[i]
        assert torch.allclose(support.modulate(weights, h)[i], want)


def test_a_fresh_modulator_is_almost_the_identity_and_a_full_one_is_not(
    support: ModuleType,
) -> None:
    h = torch.rand(N, F, dtype=torch.float64) + 1
    change = {
        full: (support.modulate(_weights(full), h) - h).pow(2).mean().sqrt()
        / h.pow(2).mean().sqrt()
        for full in (False, True)
    }
    assert change[False] < 0.2
    assert change[True] > 0.3


@pytest.mark.parametrize(
    ("features", "low", "full"),
    [(745, 10 * 745 + 64, 30 * 745 + 8), (8710, 10 * 8710 + 64, 30 * 8710 + 8)],
)
def test_parameters_per_task(features: int, low: int, full: int) -> None:
    g = torch_generator(0, "t")
    assert sum(w.numel() for w in modulators.draw_low_rank(features, 6, 2, 4, g).values()) == low
    assert sum(w.numel() for w in modulators.draw_full(features, 6, 2, g).values()) == full


def test_initial_ranges() -> None:
    w = modulators.draw_low_rank(2000, 6, 2, 4, torch_generator(1, "t"))
    for name, bound in (
        ("wa", 0.5),
        ("wa_bias", 6**-0.5),
        ("wb", 4000**-0.5),
        ("watt", 2000**-0.5),
        ("watt_bias", 2000**-0.5),
    ):
        top = w[name].abs().max()
        assert top <= bound, name
        assert name == "watt_bias" or top > 0.75 * bound, name


def test_the_folded_head_equals_the_two_products() -> None:
    backbone = backbones.FrozenBackbone.draw(F, 3)
    hidden, (weight, bias) = torch.randn(N, 256), heads.draw_rows(3, 1, 2, 4)
    want = functional.linear(
        functional.linear(functional.leaky_relu(hidden, 0.2), backbone.w2), weight, bias
    )
    assert torch.allclose(backbone.logits(hidden, weight, bias), want, atol=1e-5)


def test_head_rows_depend_on_seed_and_task_alone() -> None:
    a, b = heads.draw_rows(1, 3, 6, 8), heads.draw_rows(1, 3, 6, 8)
    assert torch.equal(a[0], b[0])
    assert not torch.equal(a[0], heads.draw_rows(2, 3, 6, 8)[0])
    assert a[0].abs().max() <= (6 / (256 + 8)) ** 0.5
    assert (a[1] == 0).all()


def test_the_trainable_net_reveals_rows_by_slicing() -> None:
    net = backbones.TrainableNet.draw(F, 6, 0, torch.device("cpu"))
    h = torch.rand(N, F)
    assert torch.equal(net.logits(h, 6)[:, :4], net.logits(h, 4))
