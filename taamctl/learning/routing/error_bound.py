"""The seed paper's appendix, computed: how far a task's profiles scatter, how far tasks lie apart,
and the bound on the task-ID error that follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.types import Array
from taamctl.learning.routing.task_id import amp_weights
from taamctl.params.train_params import InferParams
from taamctl.propagation.group_graph import normalised

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COLUMNS = 256  # features that are propagated at once


@dataclass(frozen=True)
class TaskSpread:
    """What the appendix needs of one task.

    Attributes:
        prototype: [levels * F] float64, the mean AMP profile.
        v_intra, v_raw: mean squared distance of a node's AMP profile, and of its raw features, from
            their mean.
        energy, energy_smooth: Dirichlet energy tr(Z^T (I - S) Z) / |Z|^2 of the raw features and of
            S^2 X: 0 where neighbours agree.
    """

    prototype: Array
    v_intra: float
    v_raw: float
    energy: float
    energy_smooth: float


@dataclass(frozen=True)
class Separation:
    """A task against its nearest other one.

    Attributes:
        nearest: the other task. d_inter: distance of both prototypes.
        bound: of the share of wrong task IDs, exp(-D^2 / (8 V)); 1 says nothing.
    """

    nearest: int
    d_inter: float
    bound: float


def task_spread(x: csr_matrix, edges: csr_matrix, params: InferParams) -> TaskSpread:
    """Return the spread of a task's training nodes.

    Args:
        x: [N, F] raw features. edges: [N, N] with self-loops.
        params: AMP's levels, their weights and alpha.

    Source: the appendix of TAAM (AAMAS 2026), with its sums read as means.
    """
    step = normalised(edges)
    levels = sorted(params.hops.items())
    prototype = np.zeros((len(levels), x.shape[1]))
    scatter = raw = 0.0
    energy = np.zeros((2, 2))  # of X and S^2 X: tr(Z^T (I - S) Z) and |Z|^2
    for low in range(0, x.shape[1], COLUMNS):
        block = x[:, low : low + COLUMNS].toarray().astype(np.float64)
        hops = _hops(step, block, max(3, *params.hops))
        raw += float(block.var(axis=0).sum())
        for i, (level, weight) in enumerate(levels):
            mix = amp_weights(level, params.alpha)
            profile = weight * np.sum([float(m) * hops[j] for j, m in enumerate(mix)], axis=0)
            prototype[i, low : low + COLUMNS] = profile.mean(axis=0)
            scatter += float(profile.var(axis=0).sum())
        for i, (z, smoother) in enumerate(((hops[0], hops[1]), (hops[2], hops[3]))):
            energy[i] += (z * (z - smoother)).sum(), (z * z).sum()
    shares = energy[:, 0] / np.maximum(energy[:, 1], 1e-300)
    return TaskSpread(prototype.ravel(), scatter, raw, float(shares[0]), float(shares[1]))


def _hops(step: csr_matrix, x: Array, most: int) -> list[Array]:
    """Return S^j X for j = 0..most."""
    out = [x]
    for _ in range(most):
        out.append(step @ out[-1])
    return out


def separations(tasks: Sequence[TaskSpread]) -> list[Separation]:
    """Return every task against its nearest; none where there is one task only."""
    if len(tasks) < 2:
        return []
    found = []
    for k, task in enumerate(tasks):
        apart = [float(np.linalg.norm(task.prototype - other.prototype)) for other in tasks]
        apart[k] = math.inf
        nearest = int(np.argmin(apart))
        exponent = apart[nearest] ** 2 / max(8 * task.v_intra, 1e-300)
        found.append(Separation(nearest, apart[nearest], math.exp(-exponent)))
    return found
