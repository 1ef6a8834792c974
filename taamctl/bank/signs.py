"""What tells that a node is of no known class: four numbers from sums, the regression's outputs
and the node's profile, which are put together and averaged over its neighbourhood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from taamctl.core.ranges import ranges
from taamctl.core.types import CSR, Array
from taamctl.propagation.operator import RANGE

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SIGNS = ("gap", "distance", "doubt", "rarity")
SHARP = 10.0  # the outputs times this are the posterior whose entropy is the doubt
FAINT = 0.01  # of the mean square of a feature: what one that no node had counts as
OWN = 0.2  # share of a node's own value in every step over the edges
STEPS = 8
KEPT = 16 * RANGE  # entries of a graph whose means are worked out once for all steps


@dataclass(frozen=True)
class Signs:
    """The regression of some tasks, as signs need it.

    Attributes:
        weight: [P, C] float32. mean, deviation: [C] of a class's own output over its training
            nodes.
        pull: [C, C], (I - B)^-1 with B the outputs of the class means.
        rarity: [P], one over the mean square of every number of a profile.
        means: [P, C] float32, the mean profile of every class; None: not known.
    """

    weight: torch.Tensor
    mean: Array
    deviation: Array
    pull: Array
    rarity: Array
    means: torch.Tensor | None = None

    def of(self, profiles: torch.Tensor, scores: Array) -> Array:
        """Return the signs, [N, 4] float64; larger is less alike.

        gap: how far the largest output lies below the mean of its class, in deviations.
        distance: squared Mahalanobis distance to the nearest class mean, less that to 0 under the
        second moments of all. With the regression's penalty in both, what they have in common goes
        away, and s K s - 2 max_c (s K - diag(B K) / 2)_c is left, s the outputs.
        doubt: entropy of the posterior. rarity: how rare what the node has is among known nodes.
        Source: the relative distance is Ren et al. (2021); its form from a regression's outputs,
        and the others, are ours.

        Args:
            profiles: [N, P]. scores: [N, C] float64, the outputs for them.
        """
        best = scores.argmax(1)
        top = scores.max(1)
        gap = (self.mean[best] - top) / self.deviation[best]
        # B K = K - I
        near = scores @ self.pull - (self.pull.diagonal() - 1) / 2
        distance = ((scores @ self.pull) * scores).sum(1) - 2 * near.max(1)
        p = posterior(scores, SHARP)
        doubt = -(p * np.log(np.maximum(p, 1e-30))).sum(1)
        rare = (profiles**2 @ torch.from_numpy(self.rarity).to(profiles.dtype)).numpy()
        return np.stack([gap, distance, doubt, rare], 1)


def signs_of(
    weight: torch.Tensor, cross: torch.Tensor, deviation: Array, squares: torch.Tensor
) -> Signs:
    """Return what signs need of a regression.

    Args:
        weight, cross: [P, C], the regression and the mean profile of every class.
        deviation: [C]. squares: [P], the diagonal of the Gram matrix.
    """
    outputs = (cross.double().T @ weight.double()).numpy()
    both = (outputs + outputs.T) / 2
    # the penalty keeps eigenvalues of B below 1, but for rounding
    pull = np.linalg.inv((1 + 1e-6) * np.eye(len(both)) - both)
    floor = FAINT * float(squares.mean())
    rarity = 1 / (squares.double() + max(floor, 1e-12)).numpy()
    own = outputs.diagonal().copy()
    return Signs(weight, own, deviation, pull, rarity, cross.float())


def posterior(scores: Array, temperature: float) -> Array:
    """Return softmax(temperature x scores), [N, C] float64."""
    raised = temperature * (scores - scores.max(1, keepdims=True))
    p = np.exp(raised)
    return np.asarray(p / p.sum(1, keepdims=True))


def over_edges(values: Array, adjacency: CSR) -> Array:
    """Return values averaged over the neighbourhood: eight times, 0.2 of a node's own value and
    0.8 of the mean of what it receives; a node without an edge keeps its own.

    Args:
        values: [N] or [N, K] float64. adjacency: [N, N]; loops do not count.
    """
    kept = None
    if adjacency.nnz <= KEPT:
        kept = list(_means(adjacency))
    found = values
    for _ in range(STEPS):
        received = np.empty_like(found)
        for low, high, alone, block in kept or _means(adjacency):
            mean = block @ found
            mean[alone] = found[low:high][alone]
            received[low:high] = mean
        found = OWN * values + (1 - OWN) * received
    return np.asarray(found)


def _means(adjacency: CSR) -> Iterator[tuple[int, int, Array, csr_matrix]]:
    """Yield (low, high, which of these rows have no edge, a float64 matrix that takes the means of
    what they receive), a range of rows at a time: of a large graph no more is held.
    """
    import scipy.sparse as sp

    for low, high in ranges(adjacency.indptr, RANGE):
        rows = adjacency.rows(low, high)
        data = np.ones(rows.nnz) if rows.data is None else rows.data.astype(np.float64)
        row = np.repeat(np.arange(high - low), np.diff(rows.indptr))
        data[rows.indices == row + low] = 0  # loops
        counts = np.bincount(row, data, high - low)
        data *= (1 / np.maximum(counts, 1))[row]
        block = sp.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape)
        yield low, high, counts == 0, block
