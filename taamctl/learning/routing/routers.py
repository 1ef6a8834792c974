"""Routers that choose a task for any query unit: by AMP prototypes, class prototypes, a
shared-covariance Gaussian, or ridge regression.

The last three need the sums of `learning.ridge` alone. They give every node a log posterior over
tasks; a unit's nodes are taken as independent, so its decision goes by the mean of their log
posteriors. AMP prototypes compare the mean of the unit's profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.learning.kernels import ridge
from taamctl.learning.routing import task_id
from taamctl.params.train_params import InferParams, RidgeParams

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Bounds = Sequence[tuple[int, int]]


def amp_profiles(hops: Mapping[int, torch.Tensor], params: InferParams) -> Array:
    """Return every node's AMP profile, [N, levels * F] float32; a graph's profile is the mean of
    its nodes'.

    Args:
        hops: j -> S^j X for j = 0..max level, [N, F] float32.
    """
    blocks = []
    for level, weight in sorted(params.hops.items()):
        mix = task_id.amp_weights(level, params.alpha)
        blocks.append(weight * torch.stack([float(m) * hops[j] for j, m in enumerate(mix)]).sum(0))
    return torch.cat(blocks, 1).numpy()


def nearest_prototype(profiles: Array, prototypes: Array) -> Array:
    """Return the task whose prototype has the largest cosine, [U] int64; the lowest task wins a
    tie.

    Args:
        profiles: [U, D]. prototypes: [T, D]; NaN for a task without one.
    """
    known = np.nan_to_num(prototypes)
    norms = np.linalg.norm(profiles, axis=1)[:, None] * np.linalg.norm(known, axis=1)
    cosine = np.divide(profiles @ known.T, norms, out=np.full(norms.shape, -1.0), where=norms > 0)
    return np.asarray(cosine.argmax(1), np.int64)


def linear_scores(
    sums: ridge.Sums, params: RidgeParams, temperature: float
) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Return router -> (W [P, C], b [C]): log class posteriors of a profile phi are phi W + b, up
    to a constant.

    class: temperature * cosine with the class mean. gaussian: linear discriminant with the pooled
    within-class covariance (G - M M^T) / C, penalised as the regression is. ridge: temperature *
    the regression's output.
    """
    weights, strength = ridge.solve(sums, params)
    mean = sums.cross
    classes = mean.shape[1]
    centred = mean / mean.norm(dim=0).clamp(min=1e-12)
    within = (sums.gram - mean @ mean.T) / classes
    diagonal = sums.gram.diagonal().clamp(min=1e-12) / classes
    penalty = diagonal**params.exponent
    within.diagonal().add_(strength * penalty * (diagonal.mean() / penalty.mean()))
    discriminant = torch.linalg.solve(within, mean)
    zero = torch.zeros(classes)
    return {
        "class": (temperature * centred.float(), zero),
        "gaussian": (discriminant.float(), (-0.5 * (mean * discriminant).sum(0)).float()),
        "ridge": (temperature * weights, zero),
    }


def task_log_posterior(class_scores: torch.Tensor, bounds: Bounds) -> torch.Tensor:
    """Return log p(task), [N, T], from unnormalised log class posteriors [N, C]."""
    log_p = torch.log_softmax(class_scores, 1)
    return torch.stack([torch.logsumexp(log_p[:, low:high], 1) for low, high in bounds], 1)


def smoothed(log_posterior: Array, edges: csr_matrix) -> Array:
    """Return log of the mean of a node's posterior and the mean posterior of the nodes it receives
    from, itself included, [N, T].

    Args:
        edges: [N, N] with self-loops.
    """
    p = np.exp(log_posterior)
    around = np.asarray(edges @ p) / np.maximum(np.asarray(edges.sum(1)), 1e-12)
    return np.asarray(np.log(np.maximum((p + around) / 2, 1e-30)))


def soft_choice(
    log_posterior: Array, experts: Mapping[int, tuple[Array, Array]], bounds: Bounds
) -> Array:
    """Return the class with the largest p(task) p(class | task) over the tasks that were asked, [N]
    int64.

    Args:
        log_posterior: [N, T] over tasks.
        experts: task -> (rows [n], log probabilities [n, classes of the task]) for the nodes that
            have the task among their top ones.
    """
    best = np.full(len(log_posterior), -np.inf)
    chosen = np.full(len(log_posterior), -1, np.int64)
    for k in sorted(experts):
        rows, log_p = experts[k]
        joint = log_posterior[rows, k, None] + log_p
        better = joint.max(1) > best[rows]
        best[rows[better]] = joint.max(1)[better]
        chosen[rows[better]] = joint.argmax(1)[better] + bounds[k][0]
    return chosen


def top_tasks(log_posterior: Array, top: int) -> dict[int, Array]:
    """Return task -> the nodes that have it among their `top` likeliest ones."""
    order = np.argsort(-log_posterior, axis=1, kind="stable")[:, :top]
    return {int(k): np.flatnonzero((order == k).any(1)) for k in np.unique(order)}
