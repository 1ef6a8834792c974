"""Neural Synapse Modulators: a per-task, per-node scale and shift of the aggregated input features.

    [gamma_i, beta_i] = softmax(W_att h_i + b_att) M,   h'_i = gamma_i * LN(h_i) + beta_i + h_i

M [heads, 2F] is what a task owns. There is no 1 + gamma: with M near 0 the residual makes a
modulator the identity. Source: TAAM (2026), Eqs. 7-10.
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from taamctl.models import initialise
from taamctl.models.layer import LN_EPS, Terms

Weights = dict[str, torch.Tensor]


def draw_low_rank(
    num_features: int, d_task: int, heads: int, rank: int, generator: torch.Generator
) -> Weights:
    """Draw an NSM: M = reshape(W_A e + b_A, heads, rank) W_B.

    Returns e [d_task], W_A [heads*rank, d_task] with bias, W_B [rank, 2F], W_att [heads, F] with
    bias.
    """
    return {
        "e": torch.randn(d_task, generator=generator),
        "wa": initialise.kaiming_uniform(heads * rank, d_task, math.sqrt(3), generator),
        "wa_bias": initialise.uniform((heads * rank,), 1 / math.sqrt(d_task), generator),
        "wb": initialise.kaiming_uniform(rank, 2 * num_features, math.sqrt(5), generator),
        **_draw_attention(num_features, heads, generator),
    }


def draw_full(num_features: int, d_task: int, heads: int, generator: torch.Generator) -> Weights:
    """Draw an NSM-L: M = reshape(W e + b, heads, 2F), so the modulation is of order 1 from the
    start.
    """
    bound = 1 / math.sqrt(d_task)
    return {
        "e": torch.randn(d_task, generator=generator),
        "w": initialise.uniform((heads * 2 * num_features, d_task), bound, generator),
        "w_bias": initialise.uniform((heads * 2 * num_features,), bound, generator),
        **_draw_attention(num_features, heads, generator),
    }


def _draw_attention(num_features: int, heads: int, generator: torch.Generator) -> Weights:
    bound = 1 / math.sqrt(num_features)
    return {
        "watt": initialise.uniform((heads, num_features), bound, generator),
        "watt_bias": initialise.uniform((heads,), bound, generator),
    }


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


def terms(weights: Weights) -> Terms:
    """Return what the frozen layer reads of a modulator."""
    return Terms(*modulation(weights), weights["watt"], weights["watt_bias"])


def attention(weights: Weights, h: torch.Tensor) -> torch.Tensor:
    """Return the heads' weights per node, [N, heads], rows summing to 1."""
    return torch.softmax(functional.linear(h, weights["watt"], weights["watt_bias"]), dim=1)


def normalised(h: torch.Tensor) -> torch.Tensor:
    """Return LN(h): zero mean, unit variance over the F features of a node; no affine part."""
    return functional.layer_norm(h, h.shape[1:], eps=LN_EPS)


def modulate(weights: Weights, h: torch.Tensor) -> torch.Tensor:
    """Return h' as the equations state it, [N, F]: the plain form, which `models.sweep` is
    tested against.
    """
    gamma, beta = modulation(weights)
    a = attention(weights, h)
    return (a @ gamma) * normalised(h) + a @ beta + h
