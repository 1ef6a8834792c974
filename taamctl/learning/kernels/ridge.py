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
from functools import partial
from typing import Protocol, TypeAlias

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.learning.kernels.regression import Regression, solved
from taamctl.models.sweep import Map, workers
from taamctl.params.train_params import RidgeParams

Hops: TypeAlias = "Mapping[int, torch.Tensor]"
ROWS = 8192  # profiles that are in memory at once
COLUMNS = 256  # of a Gram matrix that are multiplied at once, from the diagonal down


class HopRows(Protocol):
    """Rows of one hop, [N, F]: a tensor, or what reads some of them from a file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return (N, F)."""

    def __getitem__(self, at: slice | torch.Tensor, /) -> torch.Tensor:
        """Return a range of rows, or rows by their numbers."""


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
        z = _mixed(hops, weights)
        matrix = self.matrix.to(z.device)
        if not matrix.shape[1]:
            return z
        if self.projects:
            return _unit(z @ matrix)
        # One array for both parts: each is written where it belongs.
        whole = z.new_empty(len(z), z.shape[1] + matrix.shape[1])
        whole[:, : z.shape[1]] = z
        drawn = torch.mm(z, matrix, out=whole[:, z.shape[1] :]).relu_()
        drawn *= self.weight / _length(drawn)
        return whole


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


def collect(
    hops: Mapping[int, HopRows],
    y: torch.Tensor,
    classes: int,
    lift: Lift,
    params: RidgeParams,
) -> Sums:
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
    with workers(y.device) as spread:
        for low in range(0, len(y), rows):
            block = {j: x[low : low + rows] for j, x in hops.items()}
            profile = partial(lift.profile, block)
            phi = torch.cat(list(spread(profile, wanted)))
            weighted = phi * weights[low : low + rows].repeat(len(wanted))[:, None]
            _add_lower(gram, weighted, phi, spread)
            cross += _per_class(weighted, y[low : low + rows].repeat(len(wanted)), classes)
    gram = gram.tril() + gram.tril(-1).T
    return Sums(gram / len(wanted), cross.T / len(wanted), len(y))


def _per_class(rows: torch.Tensor, y: torch.Tensor, classes: int) -> torch.Tensor:
    """Return the sum of the rows of every class, [C, P] on the CPU: as a product where that is
    small.
    """
    if classes <= COLUMNS:
        of_class = functional.one_hot(y, classes).to(rows.dtype)
        return (of_class.T @ rows).double().cpu()
    sums = torch.zeros(classes, rows.shape[1], dtype=torch.float64)
    return sums.index_add_(0, y.cpu(), rows.double().cpu())


def _add_lower(gram: torch.Tensor, weighted: torch.Tensor, phi: torch.Tensor, spread: Map) -> None:
    """Add the lower triangle of weighted^T phi to that of the Gram matrix, of the features that
    occur in these rows. What is above the diagonal is left undefined.

    Args:
        spread: maps over blocks of columns, each by one thread.
    """
    at = (phi != 0).any(0).nonzero()[:, 0]
    if len(at) < phi.shape[1]:
        weighted, phi = weighted[:, at], phi[:, at]
    at = at.cpu()

    def add(low: int) -> None:
        own = phi[:, low : low + COLUMNS]
        product = (weighted[:, low:].T @ own).cpu()
        if len(at) == len(gram):
            gram[low:, low : low + COLUMNS] += product
        else:
            places = (at[low:, None], at[low : low + COLUMNS])
            gram.index_put_(places, product.double(), accumulate=True)

    list(spread(add, range(0, len(at), COLUMNS)))


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


def _mixed(hops: Hops, weights: Mapping[int, float]) -> torch.Tensor:
    """Return the weighted sum of hops, each of length 1, scaled to length 1, [N, F]."""
    (first, weight), *others = sorted(weights.items())
    total = _unit(hops[first])
    if not others:
        return total
    total *= weight
    for j, w in others:
        total += _unit(hops[j]).mul_(w)
    return total.div_(_length(total))


def _unit(x: torch.Tensor) -> torch.Tensor:
    """Return rows scaled to length 1; a zero row stays zero."""
    return x / _length(x)


def _length(x: torch.Tensor) -> torch.Tensor:
    """Return the length of rows, [N, 1], that of a zero row above zero."""
    length: torch.Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
    return length.clamp(min=1e-12)
