"""Neural Synapse Modulators: a per-task, per-node scale and shift of the aggregated input features.

    [gamma_i, beta_i] = softmax(W_att h_i + b_att) M,   h'_i = gamma_i * LN(h_i) + beta_i + h_i

M [heads, 2F] is what a task owns, and `modulation` computes it; `models.layer` computes W1 h'.
There is no 1 + gamma: with M near 0 the residual makes a modulator the identity. Source: TAAM
(2026), Eqs. 7-10.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from taamctl.core.late_torch import torch
from taamctl.models.initialise import kaiming_uniform, uniform
from taamctl.models.layer import Terms

Weights: TypeAlias = "dict[str, torch.Tensor]"


def draw_low_rank(
    num_features: int, d_task: int, heads: int, rank: int, generator: torch.Generator
) -> Weights:
    """Draw an NSM: M = reshape(W_A e + b_A, heads, rank) W_B.

    Returns e [d_task], W_A [heads*rank, d_task] with bias, W_B [rank, 2F], W_att [heads, F] with
    bias.
    """
    return {
        "e": torch.randn(d_task, generator=generator),
        "wa": kaiming_uniform(heads * rank, d_task, math.sqrt(3), generator),
        "wa_bias": uniform((heads * rank,), 1 / math.sqrt(d_task), generator),
        "wb": kaiming_uniform(rank, 2 * num_features, math.sqrt(5), generator),
        **_draw_attention(num_features, heads, generator),
    }


def draw_full(num_features: int, d_task: int, heads: int, generator: torch.Generator) -> Weights:
    """Draw an NSM-L: M = reshape(W e + b, heads, 2F), so the modulation is of order 1 from the
    start.
    """
    bound = 1 / math.sqrt(d_task)
    return {
        "e": torch.randn(d_task, generator=generator),
        "w": uniform((heads * 2 * num_features, d_task), bound, generator),
        "w_bias": uniform((heads * 2 * num_features,), bound, generator),
        **_draw_attention(num_features, heads, generator),
    }


def _draw_attention(num_features: int, heads: int, generator: torch.Generator) -> Weights:
    bound = 1 / math.sqrt(num_features)
    return {
        "watt": uniform((heads, num_features), bound, generator),
        "watt_bias": uniform((heads,), bound, generator),
    }


def modulation(weights: Weights) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the heads' scales and shifts, gamma and beta, each [heads, F]: the two halves of M."""
    heads = len(weights["watt"])
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
