"""Neural Synapse Modulators: a per-task, per-node scale and shift of the aggregated input features.

    [gamma_i, beta_i] = softmax(W_att h_i + b_att) M,   h'_i = gamma_i * LN(h_i) + beta_i + h_i

M [heads, 2F] is what a task owns. There is no 1 + gamma: with M near 0 the residual makes a modulator the identity.
Source: TAAM (2026), Eqs. 7-10.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from taamctl.models import init

Weights = dict[str, torch.Tensor]
LN_EPS = 1e-5
ROWS = 2048  # rows per step of the fused product on a CPU: its temporary stays in the cache


def draw_low_rank(num_features: int, d_task: int, heads: int, rank: int, generator: torch.Generator) -> Weights:
    """Draw an NSM: M = reshape(W_A e + b_A, heads, rank) W_B.

    Returns e [d_task], W_A [heads*rank, d_task] with bias, W_B [rank, 2F], W_att [heads, F] with bias.
    """
    return {
        "e": torch.randn(d_task, generator=generator),
        "wa": init.kaiming_uniform(heads * rank, d_task, math.sqrt(3), generator),
        "wa_bias": init.uniform((heads * rank,), 1 / math.sqrt(d_task), generator),
        "wb": init.kaiming_uniform(rank, 2 * num_features, math.sqrt(5), generator),
        **_draw_attention(num_features, heads, generator),
    }


def draw_full(num_features: int, d_task: int, heads: int, generator: torch.Generator) -> Weights:
    """Draw an NSM-L: M = reshape(W e + b, heads, 2F), so the modulation is of order 1 from the start."""
    bound = 1 / math.sqrt(d_task)
    return {
        "e": torch.randn(d_task, generator=generator),
        "w": init.uniform((heads * 2 * num_features, d_task), bound, generator),
        "w_bias": init.uniform((heads * 2 * num_features,), bound, generator),
        **_draw_attention(num_features, heads, generator),
    }


def _draw_attention(num_features: int, heads: int, generator: torch.Generator) -> Weights:
    bound = 1 / math.sqrt(num_features)
    return {"watt": init.uniform((heads, num_features), bound, generator),
            "watt_bias": init.uniform((heads,), bound, generator)}


def modulation(weights: Weights) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the heads' scales and shifts, gamma and beta, each [heads, F]."""
    heads = weights["watt"].shape[0]
    if "wb" in weights:
        u = (weights["wa"] @ weights["e"] + weights["wa_bias"]).reshape(heads, -1)
        m = u @ weights["wb"]
    else:
        m = (weights["w"] @ weights["e"] + weights["w_bias"]).reshape(heads, -1)
    gamma, beta = m.chunk(2, dim=1)
    return gamma, beta


def attention(weights: Weights, h: torch.Tensor) -> torch.Tensor:
    """Return the heads' weights per node, [N, heads], rows summing to 1."""
    return torch.softmax(functional.linear(h, weights["watt"], weights["watt_bias"]), dim=1)


def normalised(h: torch.Tensor) -> torch.Tensor:
    """Return LN(h): zero mean, unit variance over the F features of a node; no affine part."""
    return functional.layer_norm(h, h.shape[1:], eps=LN_EPS)


def modulate(weights: Weights, h: torch.Tensor) -> torch.Tensor:
    """Return h' as the equations state it, [N, F]: the plain form, which `modulated_product` is tested against."""
    gamma, beta = modulation(weights)
    a = attention(weights, h)
    return (a @ gamma) * normalised(h) + a @ beta + h


def modulated_product(weights: Weights, h: torch.Tensor, ln: torch.Tensor, base: torch.Tensor, w1: torch.Tensor) -> torch.Tensor:
    """Return W1 h' as [N, 256] without keeping any N x F array between forward and backward.

    W1 h' = W1 h + W1 ((a gamma) * LN(h)) + a (beta W1^T); h, LN(h) and W1 h do not change during training.

    Args:
        h: [N, F]. ln: LN(h). base: W1 h, [N, 256]. w1: [256, F].
    """
    gamma, beta = modulation(weights)
    a = attention(weights, h)
    product: torch.Tensor = _ScaledProduct.apply(ln, a, gamma, w1)  # type: ignore[no-untyped-call]
    return base + product + a @ (beta @ w1.T)


def _blocks(n: torch.Tensor) -> Iterator[slice]:
    """Yield row slices; on a GPU one slice, for there launches cost more than cache misses."""
    step = max(1, n.shape[0]) if n.is_cuda else ROWS
    return (slice(low, low + step) for low in range(0, n.shape[0], step))


class _ScaledProduct(torch.autograd.Function):
    """((a gamma) * n) W1^T with gradients for a and gamma only: one product forward, one backward, nothing frozen differentiated."""

    @staticmethod
    def forward(ctx: Any, n: torch.Tensor, a: torch.Tensor, gamma: torch.Tensor, w1: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(n, a, gamma, w1)
        out = torch.empty((n.shape[0], w1.shape[0]), dtype=n.dtype, device=n.device)
        for rows in _blocks(n):
            scaled = a[rows, :1] * gamma[0]  # head by head: a product with an inner dimension of 2 is slower than its memory
            for m in range(1, len(gamma)):
                scaled.addcmul_(a[rows, m:m + 1], gamma[m:m + 1])
            torch.mm(scaled.mul_(n[rows]), w1.T, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor, torch.Tensor, None]:
        n, a, gamma, w1 = ctx.saved_tensors
        da, dgamma = torch.empty_like(a), torch.zeros_like(gamma)
        for rows in _blocks(n):
            upstream = (gradients[0][rows] @ w1).mul_(n[rows])
            torch.mm(upstream, gamma.T, out=da[rows])
            dgamma.addmm_(a[rows].T, upstream)
        return None, da, dgamma, None
