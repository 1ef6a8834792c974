from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch.nn import functional

from taamctl.core.seeding import torch_generator
from taamctl.models import modulators, sweep
from taamctl.models.layer import DenseRows, SparseRows

F, N, C = 90, 333, 7
CPU = torch.device("cpu")


def _problem(density: float, dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(1)
    h = torch.rand(N, F, generator=g) * (torch.rand(N, F, generator=g) < density)
    made = {
        "h": h,
        "w1": torch.randn(256, F, generator=g),
        "weight": torch.randn(C, 256, generator=g) / 16,
        "bias": torch.randn(C, generator=g),
        "weights": torch.rand(N, generator=g),
    }
    return {
        "y": torch.randint(0, C, (N,), generator=g),
        **{n: t.to(dtype) for n, t in made.items()},
    }


def _modulator(full: bool, dtype: torch.dtype = torch.float64) -> modulators.Weights:
    generator = torch_generator(0, "t")
    drawn = (
        modulators.draw_full(F, 6, 3, generator)
        if full
        else modulators.draw_low_rank(F, 6, 2, 4, generator)
    )
    return {n: w.to(dtype).requires_grad_() for n, w in drawn.items()}


def _swept(
    p: dict[str, torch.Tensor],
    modulator: modulators.Weights,
    *,
    normalise: bool = True,
    residual: bool = True,
    low: torch.dtype | None = None,
) -> tuple[torch.Tensor, dict[str, torch.Tensor | None], sweep.Inputs]:
    base = p["h"] @ p["w1"].T if residual else p["h"].new_zeros(N, 256)
    weight, bias = (p[n].clone().requires_grad_() for n in ("weight", "bias"))
    with sweep.workers(CPU) as spread:
        inputs = sweep.prepare(p["h"], base, p["w1"], spread, low=low, normalise=normalise)
        loss = sweep.weighted_loss(
            inputs,
            sweep.Targets(p["y"], p["weights"]),
            modulators.terms(modulator),
            weight,
            bias,
            spread,
        )
        loss.backward()
    return (
        loss.detach(),
        {**{n: w.grad for n, w in modulator.items()}, "weight": weight.grad, "bias": bias.grad},
        inputs,
    )


def _plain(
    support: ModuleType,
    p: dict[str, torch.Tensor],
    modulator: modulators.Weights,
    **terms: bool,
) -> tuple[torch.Tensor, dict[str, torch.Tensor | None]]:
    modulated = support.modulate(modulator, p["h"], **terms)
    weight, bias = (p[n].clone().requires_grad_() for n in ("weight", "bias"))
    scores = functional.linear(functional.leaky_relu(modulated @ p["w1"].T, 0.2), weight, bias)
    loss = (functional.cross_entropy(scores, p["y"], reduction="none") * p["weights"]).sum()
    loss.backward()
    return loss.detach(), {
        **{n: w.grad for n, w in modulator.items()},
        "weight": weight.grad,
        "bias": bias.grad,
    }


@pytest.mark.parametrize("density", [1.0, 0.05])
@pytest.mark.parametrize(
    ("full", "normalise", "residual"),
    [(False, True, True), (True, True, True), (True, False, True), (True, True, False)],
)
def test_the_sweep_equals_the_equations_and_so_do_its_gradients(
    density: float,
    full: bool,
    normalise: bool,
    residual: bool,
    monkeypatch: pytest.MonkeyPatch,
    support: ModuleType,
) -> None:
    monkeypatch.setattr(sweep, "MOST", 50)  # several blocks, not all of one size
    p = _problem(density)
    loss, gradients, inputs = _swept(p, _modulator(full), normalise=normalise, residual=residual)
    wanted, plain = _plain(support, p, _modulator(full), normalise=normalise, residual=residual)
    assert {type(rows) for rows in inputs.blocks} == {DenseRows if density == 1.0 else SparseRows}
    assert len(inputs.blocks) == 8
    assert torch.allclose(loss, wanted, rtol=1e-12)
    for name, gradient in gradients.items():
        assert gradient is not None and gradient.abs().max() > 0, name
        assert torch.allclose(gradient, plain[name], rtol=1e-8, atol=1e-11), name


def test_gradients_equal_finite_differences() -> None:
    p, modulator = _problem(0.05), _modulator(False)
    _, gradients, _ = _swept(p, modulator)
    generator = torch.Generator().manual_seed(2)
    for name, weights in modulator.items():
        direction = torch.randn(weights.shape, generator=generator, dtype=torch.float64)
        losses = []
        for sign in (1, -1):
            moved = {
                n: (w.detach() + (sign * 1e-6 * direction if n == name else 0)).requires_grad_()
                for n, w in modulator.items()
            }
            losses.append(_swept(p, moved)[0])
        slope = float(losses[0] - losses[1]) / 2e-6
        assert slope == pytest.approx(
            float((gradients[name] * direction).sum()), rel=1e-5, abs=1e-9
        ), name  # type: ignore[operator]


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_no_bit_depends_on_the_number_of_threads(
    density: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST", 50)
    p, before, seen = _problem(density, torch.float32), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            loss, gradients, _ = _swept(p, _modulator(True, torch.float32))
            seen.append((loss, gradients))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for loss, gradients in seen[1:]:
        assert torch.equal(loss, seen[0][0])
        assert all(torch.equal(g, seen[0][1][n]) for n, g in gradients.items())  # type: ignore[arg-type]


def test_float32_and_bfloat16_stay_near_float64() -> None:
    for density in (1.0, 0.05):
        _, exact, _ = _swept(_problem(density), _modulator(True))
        for low, bound in ((None, 2e-5), (torch.bfloat16, 0.03)):
            _, made, inputs = _swept(
                _problem(density, torch.float32), _modulator(True, torch.float32), low=low
            )
            for name, gradient in made.items():
                error = (gradient - exact[name]).norm() / exact[name].norm()  # type: ignore[union-attr, operator]
                assert error < bound, (density, low, name)
            if density == 1.0 and low is not None:
                assert inputs.blocks[0].n.dtype == torch.bfloat16  # type: ignore[attr-defined]
                assert float(error) > 1e-6  # it is used


def test_a_block_without_an_entry_and_a_node_without_one(support: ModuleType) -> None:
    p = _problem(0.05)
    p["h"][:200] = 0
    loss, gradients, inputs = _swept(p, _modulator(False))
    wanted, plain = _plain(support, p, _modulator(False))
    assert isinstance(inputs.blocks[0], SparseRows) and torch.isfinite(loss)
    assert torch.allclose(loss, wanted)
    assert all(torch.allclose(g, plain[n], rtol=1e-8, atol=1e-11) for n, g in gradients.items())  # type: ignore[arg-type]


def test_without_a_modulator_h_stays_as_it_is_and_the_head_is_still_trained() -> None:
    p = _problem(1.0)
    base = sweep.base_of(p["h"], p["w1"], map)
    assert torch.allclose(base, p["h"] @ p["w1"].T)
    inputs = sweep.prepare(p["h"], base, p["w1"], map)
    weight, bias = (p[n].clone().requires_grad_() for n in ("weight", "bias"))
    sweep.weighted_loss(
        inputs, sweep.Targets(p["y"], p["weights"]), None, weight, bias, map
    ).backward()
    other_weight, other_bias = (p[n].clone().requires_grad_() for n in ("weight", "bias"))
    scores = functional.linear(functional.leaky_relu(base, 0.2), other_weight, other_bias)
    (functional.cross_entropy(scores, p["y"], reduction="none") * p["weights"]).sum().backward()
    assert torch.allclose(weight.grad, other_weight.grad) and torch.allclose(
        bias.grad, other_bias.grad
    )  # type: ignore[arg-type]
    assert torch.allclose(sweep.logits(inputs, None, weight, bias, map), scores.detach())


@pytest.mark.parametrize("density", [1.0, 0.05])
def test_logits_are_those_of_the_equations(density: float, support: ModuleType) -> None:
    p, modulator = _problem(density), _modulator(True)
    terms = modulators.terms(modulator)
    for rows in (slice(None), slice(0, 0)):
        h = p["h"][rows]
        inputs = sweep.prepare(h, sweep.base_of(h, p["w1"], map), p["w1"], map)
        wanted = functional.linear(
            functional.leaky_relu(support.modulate(modulator, h) @ p["w1"].T, 0.2),
            p["weight"],
            p["bias"],
        )
        made = sweep.logits(inputs, terms, p["weight"], p["bias"], map)
        assert made.shape == wanted.shape
        always = sweep.prepare(h, sweep.base_of(h, p["w1"], map), p["w1"], map, sparse=False)
        assert all(isinstance(block, DenseRows) for block in always.blocks)
        assert torch.allclose(
            sweep.logits(always, terms, p["weight"], p["bias"], map), wanted, rtol=1e-9, atol=1e-9
        )
        assert torch.allclose(made, wanted, rtol=1e-9, atol=1e-9)


def test_blocks_cover_all_rows_once() -> None:
    for n in (0, 1, 2, 511, 5000):
        for width in (1, 100, 745, 10_000):
            bounds = sweep.split_rows(n, width, CPU)
            assert [a for a, _ in bounds] == [0, *[b for _, b in bounds]][: len(bounds)]
            assert (bounds[-1][1] if bounds else 0) == n
    assert len(sweep.split_rows(5000, 745, CPU)) % 2 == 0
    gpu = torch.device("cuda")
    assert sweep.split_rows(5000, 745, gpu) == ((0, 5000),)
    large = sweep.split_rows(1_000_000, 745, gpu)
    assert [a for a, _ in large[1:]] == [b for _, b in large[:-1]]
    assert large[-1][1] == 1_000_000
    assert max(b - a for a, b in large) * 745 <= sweep.ELEMENTS_ON_GPU


def test_nodes_with_few_and_with_many_entries_go_through_products_of_their_own(
    support: ModuleType,
) -> None:
    p = _problem(1.0)
    few = torch.arange(N) % 3 != 1
    p["h"][few] *= torch.rand(p["h"][few].shape, generator=torch_generator(0, "few")) < 0.1
    loss, gradients, inputs = _swept(p, _modulator(False))
    kinds = {type(block) for block in inputs.blocks}
    assert kinds == {SparseRows, DenseRows}
    for block, at in zip(inputs.blocks, inputs.at, strict=True):
        assert bool(few[at].all() if isinstance(block, SparseRows) else (~few[at]).all())
    assert torch.equal(torch.cat(inputs.at).sort().values, torch.arange(N))
    wanted, plain = _plain(support, p, _modulator(False))
    assert torch.allclose(loss, wanted)
    assert all(torch.allclose(g, plain[n], rtol=1e-8, atol=1e-11) for n, g in gradients.items())  # type: ignore[arg-type]
    terms = modulators.terms(_modulator(False))
    made = sweep.logits(inputs, terms, p["weight"], p["bias"], map)
    base = sweep.base_of(p["h"], p["w1"], map)
    dense = sweep.prepare(p["h"], base, p["w1"], map, sparse=False)
    assert torch.allclose(made, sweep.logits(dense, terms, p["weight"], p["bias"], map))
