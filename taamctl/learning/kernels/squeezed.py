"""What a regression keeps of the nodes it learned from, in few numbers: every class's mean
profile, and of the covariance within classes every task's leading directions and the diagonal.

The Gram matrix is G = Q Q^T + S, Q the class means and S the covariance within classes, a sum over
tasks. Q is kept anyway, so only S is squeezed: where a squeezed G falls short of Q Q^T, the means
seem to explain more than there is, and cross-validation takes far too small a ridge. A task is
squeezed once, by itself, and what is kept of several is added up: the order of tasks stays without
meaning. Source: ours; Nystroem's approximation after subspace iteration (Halko and others, 2011).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.learning.kernels import ridge

STEPS = 5  # of subspace iteration: more change no accuracy that was measured
ROUNDING = 1e-6  # of the largest eigenvalue: below is the rounding of float32 products


@dataclass(frozen=True)
class Kept:
    """What is kept of the training nodes of C classes.

    Attributes:
        gram: [P (P + 1) / 2] float32, the packed Gram matrix; empty where it is squeezed.
        factors: [P, K] float16, directions of all tasks side by side.
        rest: [P] float32, the diagonal of what the directions leave of S.
        cross: [P, C] float32, class means.
        nodes: how many training nodes.
    """

    gram: torch.Tensor
    factors: torch.Tensor
    rest: torch.Tensor
    cross: torch.Tensor
    nodes: int

    @staticmethod
    def empty(width: int, whole: bool) -> Kept:
        """Return what is kept of no node."""
        return Kept(
            torch.zeros(width * (width + 1) // 2 * whole),
            torch.zeros(width, 0, dtype=torch.float16),
            torch.zeros(width),
            torch.zeros(width, 0),
            0,
        )

    def joined(self, other: Kept) -> Kept:
        """Return what is kept of both, the other's classes after these."""
        return Kept(
            self.gram + other.gram,
            torch.cat([self.factors, other.factors], 1),
            self.rest + other.rest,
            torch.cat([self.cross, other.cross], 1),
            self.nodes + other.nodes,
        )

    def sums(self) -> ridge.Sums:
        """Return the sums that a regression is solved from, G as it is or as it is approximated."""
        cross = self.cross.double()
        if len(self.gram):
            gram = ridge.unpack(self.gram.double(), len(cross))
        else:
            wide = torch.cat([cross, self.factors.double()], 1)
            gram = wide @ wide.T + torch.diag(self.rest.double())
        return ridge.Sums(gram, cross, self.nodes)

    def arrays(self) -> dict[str, torch.Tensor]:
        """Return it as tensors by name."""
        return {**vars(self), "nodes": torch.tensor([self.nodes])}

    @staticmethod
    def from_arrays(arrays: Mapping[str, torch.Tensor]) -> Kept:
        """Return what `arrays` returned."""
        return Kept(**{**arrays, "nodes": int(arrays["nodes"][0])})  # type: ignore[arg-type]


def is_whole(width: int, rank: int | None, tasks: int) -> bool:
    """Tell whether the whole Gram matrix is kept: where it is asked for, and where the directions
    of all tasks would take as many words.
    """
    return rank is None or width * (rank * tasks / 2 + 1) >= width * (width + 1) / 2


def words(width: int, classes: int, rank: int | None, tasks: int) -> int:
    """Return the float32-sized words that are kept at most, a float16 counted as half of one."""
    if rank is None or is_whole(width, rank, tasks):
        return width * (width + 1) // 2 + width * classes
    directions = min(rank, width) * tasks
    return width * (1 + classes) + (width * directions + 1) // 2


def of_task(sums: ridge.Sums, rank: int | None) -> Kept:
    """Return what is kept of one task.

    Args:
        rank: most directions; None: the whole Gram matrix.
    """
    kept = replace(Kept.empty(len(sums.cross), False), cross=sums.cross.float(), nodes=sums.nodes)
    if rank is None:
        return replace(kept, gram=ridge.pack(sums.gram).float())
    mean = kept.cross.double()
    within = sums.gram - mean @ mean.T
    factors = leading(within, rank).half()
    rest = within.diagonal() - factors.double().square().sum(1)
    return replace(kept, factors=factors, rest=rest.clamp(min=0).float())


def stored(sums: ridge.Sums, views: int) -> ridge.Sums:
    """Return sums as they are after a trip to the disk, where they are float32: the Gram matrix as
    B B^T where the nodes are so few that B is smaller than half the matrix.

    Args:
        views: how many rows every node has in the sums.
    """
    cross = sums.cross.float().double()
    width, most = len(cross), sums.nodes * views
    if 2 * most >= width:
        return ridge.Sums(sums.gram.float().double(), cross, sums.nodes)
    return from_factors(leading(sums.gram, most).float(), cross, sums.nodes)


def from_factors(factors: torch.Tensor, cross: torch.Tensor, nodes: int) -> ridge.Sums:
    """Return the sums of which B [P, K] float32 is kept."""
    wide = factors.double()
    return ridge.Sums(wide @ wide.T, cross, nodes, factors)


def leading(matrix: torch.Tensor, rank: int) -> torch.Tensor:
    """Return B [P, K], K <= rank, with B B^T ~ a positive semidefinite matrix [P, P] float64, never
    above it: A V (V^T A V)^-1 V^T A, V a basis of A^STEPS times a random matrix.

    It equals the matrix where that has no more than `rank` directions, and has no column more than
    the matrix has directions. Small changes of the matrix change B B^T little, whatever its
    eigenvalues.
    """
    columns = min(rank, len(matrix))
    if not columns:
        return matrix[:, :0]
    basis = torch.randn(
        len(matrix), columns, generator=torch_generator(0, "squeeze"), dtype=matrix.dtype
    )
    for _ in range(STEPS):
        basis = torch.linalg.qr(matrix @ basis)[0]
    image = matrix @ basis
    inner = basis.T @ image
    values, vectors = torch.linalg.eigh((inner + inner.T) / 2)
    used = values > ROUNDING * values.clamp(min=0).max()
    found: torch.Tensor = image @ vectors[:, used] / values[used].sqrt()
    return found
