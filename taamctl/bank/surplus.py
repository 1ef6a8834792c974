"""Which nodes a graph has more of than the classes that its nodes were answered as account for.

Where known classes are few among the nodes that are asked about, those are new. How many known
nodes there would be for every one that is asked, at a profile, is p_known / p_asked. It is fitted
as a linear function by least squares, from the mean profile of every class and the graph itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array

SAMPLE = 1500  # nodes of a graph that are looked at: the cost is that of an inverse so wide
PENALTY = 0.003  # of the mean squared length of a profile
FEWEST, MOST = 0.05, 3.0  # known nodes for each that is asked; the sign is a logarithm
FEW = 200  # nodes that halve the sign: a small graph tells little
UNIT = 0.3  # what the sign is divided by where it stands beside others: as it spreads on Photo


@dataclass(frozen=True)
class Surplus:
    """What a graph, or each of some copies of it, tells about profiles.

    Attributes:
        slope: [P, G] float32; profile @ slope is p_known / p_asked, as each of G copies has it.
        copy: [N], which copy a node is of. apart: [N], what the ratio at a node is divided by, so
            that it is as if the node had not been looked at.
        trust: in [0, 1), of so many nodes.
    """

    slope: torch.Tensor
    copy: Array
    apart: Array
    trust: float

    def of(self, profiles: torch.Tensor, low: int) -> Array:
        """Return the sign of some nodes, [n] float64; larger is more of a surplus.

        Args:
            profiles: [n, P], of the nodes from `low` on.
        """
        rows = slice(low, low + len(profiles))
        found = (profiles @ self.slope).numpy().astype(np.float64)
        ratio = found[np.arange(len(found)), self.copy[rows]] / self.apart[rows]
        return -self.trust * np.log(np.clip(ratio, FEWEST, MOST))


def beside(signs: Array, surplus: Surplus | None, profiles: torch.Tensor, low: int) -> Array:
    """Return the signs with the surplus as their last, [n, K + 1] float64; 0 where a graph tells
    nothing.
    """
    last = np.zeros(len(signs))
    if surplus is not None:
        last = surplus.of(profiles, low)
    return np.column_stack([signs, last])


def sampled(copy: Array) -> Array:
    """Return which nodes are looked at, ascending: so many of every copy.

    Args:
        copy: see `Surplus`.
    """
    chosen = []
    for number in range(int(copy.max()) + 1):
        nodes = np.flatnonzero(copy == number)
        draw = numpy_generator(0, "bank/surplus").permutation(len(nodes))
        chosen.append(nodes[draw[:SAMPLE]])
    return np.sort(np.concatenate(chosen))


def room(width: int, copies: int) -> int:
    """Return the bytes that `surplus` needs at once: the profiles that are looked at, and a fit."""
    small = min(SAMPLE, width)
    return 8 * copies * SAMPLE * width + 8 * (2 * SAMPLE * width + 3 * small**2)


def surplus(
    profiles: torch.Tensor,
    answered: Array,
    means: torch.Tensor,
    places: Array,
    copy: Array,
    mass: Array,
) -> Surplus:
    """Fit the ratio.

    Source: least-squares importance fitting, Kanamori, Hido and Sugiyama (2009), with a linear
    kernel; the classes' shares and taking a node's own part out are ours.

    Args:
        profiles: [M, P] float32 of some nodes. answered: [M] the likeliest class of each.
        means: [P, C] float32, mean profile of every class. places: [M] which nodes they are.
        copy: [N] see `Surplus`. mass: [M] what a node counts.
    """
    slopes, apart = [], np.ones(len(copy))
    for number in range(int(copy.max()) + 1):
        here = np.flatnonzero(copy[places] == number)
        share = mass[here] / mass[here].sum()
        known = np.bincount(answered[here], share, means.shape[1])
        slope, own = _fitted(profiles[here], share, means.double() @ torch.from_numpy(known))
        slopes.append(slope)
        apart[places[here]] = own
    nodes = int((copy == 0).sum())
    return Surplus(torch.stack(slopes, 1), copy, apart, nodes / (nodes + FEW))


def _fitted(
    profiles: torch.Tensor, share: Array, known: torch.Tensor
) -> tuple[torch.Tensor, Array]:
    """Return the slope (Z^T Z + penalty)^-1 m, [P], and for every row by what its own value grows
    without it (Sherman and Morrison), [M].

    Args:
        profiles: [M, P]; share: [M] of a row in all; Z are the rows times its root.
        known: [P] m, the mean profile of known nodes in the shares of the classes.
    """
    z = profiles.double().mul_(torch.from_numpy(np.sqrt(share))[:, None])
    penalty = PENALTY * float(torch.linalg.vector_norm(z)) ** 2 + 1e-12
    if z.shape[1] < len(z):  # a system as wide as the profiles is the smaller one
        factor = _factor(z.T @ z, penalty)
        slope = torch.cholesky_solve(known[:, None], factor)[:, 0]
        own = 1 - torch.linalg.solve_triangular(factor, z.T, upper=False).square_().sum(0)
    else:
        inverse = torch.cholesky_inverse(_factor(z @ z.T, penalty))
        slope = (known - z.T @ (inverse @ (z @ known))) / penalty
        own = penalty * inverse.diagonal()
    return slope.float(), np.maximum(own.numpy(), 1e-3)


def _factor(square: torch.Tensor, penalty: float) -> torch.Tensor:
    """Return the Cholesky factor of a matrix and the penalty on its diagonal."""
    square.diagonal().add_(penalty)
    factor: torch.Tensor = torch.linalg.cholesky(square)
    return factor
