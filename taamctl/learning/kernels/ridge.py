"""Closed-form ridge regression on node profiles, learned from sums alone: no datum is kept, and the
order of tasks is without meaning.

A node's profile is the sum of some of its hop features S^j X, each scaled to length 1; a node is
also learned from each of these hops alone, because at test time a neighbourhood may hold other
tasks' nodes, which it never does in training. With row weights 1 / N_c every class weighs the same
whenever it arrives. Source: ridge as in ACIL (2022) and AL-GNN (2025); mixed hops, views and the
choice of the ridge from the sums are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.learning.kernels.ridge_search import Regression, solved
from taamctl.params.train_params import RidgeParams

Hops: TypeAlias = "Mapping[int, torch.Tensor]"
ROWS = 8192  # profiles that are in memory at once


@dataclass(frozen=True)
class Lift:
    """What turns a weighted sum of hops [N, F] into a profile [N, P].

    Attributes:
        matrix: [F, P - F] float32 of random ReLU features that stand beside the sum, or [F, P] of a
            projection.
        projects: which of the two.
        weight: length of the random features, that of the sum being 1.
    """

    matrix: torch.Tensor
    projects: bool
    weight: float = 1.0

    @staticmethod
    def draw(num_features: int, params: RidgeParams, seed: int) -> Lift:
        """Draw the matrix of a seed; it is the same for all tasks."""
        width = params.profile_width(num_features)
        projects = width < num_features
        columns = width if projects else width - num_features
        generator = torch_generator(seed, "ridge")
        return Lift(torch.randn(num_features, columns, generator=generator), projects)

    def profile(self, hops: Hops, weights: Mapping[int, float]) -> torch.Tensor:
        """Return profiles, [N, P] float32: the sum of w_j S^j X / |S^j X| over the given hops,
        scaled to length 1, lifted.
        """
        z = _unit(torch.stack([w * _unit(hops[j]) for j, w in sorted(weights.items())]).sum(0))
        if not self.matrix.shape[1]:
            return z
        turned = z @ self.matrix.to(z.device)
        if self.projects:
            return _unit(turned)
        return torch.cat([z, self.weight * _unit(torch.relu(turned))], 1)


@dataclass(frozen=True)
class Sums:
    """All that is kept of training nodes.

    Attributes:
        gram: [P, P] float64, sum of w_v phi_v phi_v^T, w_v = 1 / N_c, mean over views.
        cross: [P, C] float64, sum of w_v phi_v per class.
        nodes: how many training nodes.
        factors: B [P, K] float32 with G = B B^T, where that is what is stored.
    """

    gram: torch.Tensor
    cross: torch.Tensor
    nodes: int
    factors: torch.Tensor | None = None

    def joined(self, other: Sums) -> Sums:
        """Return the sums of both, the other's classes after these."""
        cross = torch.cat([self.cross, other.cross], 1)
        return Sums(self.gram + other.gram, cross, self.nodes + other.nodes)


def collect(hops: Hops, y: torch.Tensor, classes: int, lift: Lift, params: RidgeParams) -> Sums:
    """Return the sums over one task's training nodes.

    Args:
        hops: j -> S^j X, [N, F] float32.
        y: [N] int64 in 0..classes-1.
    """
    counts = torch.bincount(y, minlength=classes).double().clamp(min=1)
    weights = (1 / counts)[y].float()
    wanted = [params.hops]
    if params.views and len(params.hops) > 1:
        wanted += [{j: 1.0} for j in sorted(params.hops)]
    width = params.profile_width(next(iter(hops.values())).shape[1])
    gram = torch.zeros(width, width, dtype=torch.float64)
    cross = torch.zeros(classes, width, dtype=torch.float64)
    rows = max(1, ROWS // len(wanted))
    for low in range(0, len(y), rows):
        block = {j: x[low : low + rows] for j, x in hops.items()}
        phi = torch.cat([lift.profile(block, view) for view in wanted])
        weighted = phi * weights[low : low + rows].repeat(len(wanted))[:, None]
        _add_product(gram, weighted, phi)
        at = y[low : low + rows].repeat(len(wanted)).cpu()
        cross.index_add_(0, at, weighted.double().cpu())
    gram = (gram + gram.T) / 2  # a float32 product is symmetric to rounding only
    return Sums(gram / len(wanted), cross.T / len(wanted), len(y))


def _add_product(gram: torch.Tensor, weighted: torch.Tensor, phi: torch.Tensor) -> None:
    """Add weighted^T phi to the Gram matrix, of the features that occur in these rows."""
    used = (phi != 0).any(0)
    if bool(used.all()):
        gram += (weighted.T @ phi).cpu()
        return
    at = used.nonzero()[:, 0]
    product = (weighted[:, at].T @ phi[:, at]).double().cpu()
    at = at.cpu()
    gram.index_put_((at[:, None], at), product, accumulate=True)


def solve(sums: Sums, params: RidgeParams, factor: float = 1.0) -> tuple[torch.Tensor, float]:
    """Return W = (G + r D)^-1 Q as [P, C] float32, and the ridge r.

    D is diagonal: the mean square of every feature to the power `exponent`, scaled to the mean of
    G's diagonal. The ridge is `factor` times that of generalised cross-validation, from the sums
    only, where `ridge` is None.
    """
    own = sums.gram.diagonal()
    diagonal = own.clamp(min=1e-12)
    penalty = diagonal**params.exponent
    used = own > 0  # the weights of a feature that no node had are 0
    root = (penalty * (diagonal.mean() / penalty.mean())).rsqrt()[used, None]
    regression = Regression(
        root * _square_part(sums.gram, used) * root.T, root * sums.cross[used], sums.nodes
    )
    found, ridge = solved(regression, params.ridge, factor)
    weights = torch.zeros(sums.cross.shape)
    weights[used] = (root * found).float()
    return weights, ridge


def _square_part(gram: torch.Tensor, used: torch.Tensor) -> torch.Tensor:
    """Return the rows and columns of the features that are used."""
    return gram if bool(used.all()) else gram[used][:, used]


def pack(gram: torch.Tensor) -> torch.Tensor:
    """Return the upper half of a symmetric matrix, row by row, [P (P + 1) / 2]."""
    return torch.cat([row[i:] for i, row in enumerate(gram)])


def unpack(packed: torch.Tensor, width: int) -> torch.Tensor:
    """Return the symmetric matrix whose upper half `pack` returned."""
    upper = torch.zeros(width, width, dtype=packed.dtype)
    for i, values in enumerate(torch.split(packed, list(range(width, 0, -1)))):
        upper[i, i:] = values
    return upper + upper.triu(1).T


def _unit(x: torch.Tensor) -> torch.Tensor:
    """Return rows scaled to length 1; a zero row stays zero."""
    return torch.nn.functional.normalize(x, dim=1)
