"""What a regression keeps of the nodes it learned from, in few numbers: every class's mean
profile, and of the covariance within classes every task's leading directions and the diagonal.

The Gram matrix is G = Q Q^T + S, Q the class means and S the covariance within classes, a sum over
tasks. Q is kept anyway, so only S is squeezed: where a squeezed G falls short of Q Q^T, the means
seem to explain more than there is, and cross-validation takes far too small a ridge. A task is
squeezed once, by itself, and what is kept of several is added up: the order of tasks stays without
meaning. Source: ours; Nystroem's approximation after subspace iteration (Halko and others, 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.learning.kernels import low_rank, ridge, sparse_rows
from taamctl.params.train_params import RidgeParams

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
            wide = self._wide()
            gram = wide @ wide.T + torch.diag(self.rest.double())
        return ridge.Sums(gram, cross, self.nodes)

    def solve(self, params: RidgeParams, factor: float = 1.0) -> tuple[torch.Tensor, float]:
        """Return W and the ridge, as `ridge.solve` does of the sums."""
        if len(self.gram) or params.ridge is not None:
            return ridge.solve(self.sums(), params, factor)
        rest, cross = self.rest.double(), self.cross.double()
        return low_rank.solve(self._wide(), rest, cross, self.nodes, params.exponent, factor)

    def _wide(self) -> torch.Tensor:
        """Return U with G ~ U U^T + diag(rest), [P, C + K] float64."""
        return torch.cat([self.cross, self.factors], 1).double()

    def arrays(self) -> dict[str, torch.Tensor]:
        """Return it as tensors by name."""
        return {**vars(self), "nodes": torch.tensor([self.nodes])}

    @staticmethod
    def from_arrays(arrays: Mapping[str, torch.Tensor]) -> Kept:
        """Return what `arrays` returned."""
        return Kept(**{**arrays, "nodes": int(arrays["nodes"][0])})  # type: ignore[arg-type]


def kept_rank(width: int, rank: int | None, tasks: int) -> int | None:
    """Return how many directions of every task are kept; None for the whole Gram matrix: where it
    is asked for, and where the directions of all tasks would take as many words.

    Args:
        width: P of a profile. rank: most directions, as asked for.
    """
    if rank is None or width * (rank * tasks / 2 + 1) >= width * (width + 1) / 2:
        return None
    return rank


def words(width: int, classes: int, rank: int | None, tasks: int) -> int:
    """Return the float32-sized words that are kept at most, a float16 counted as half of one."""
    kept = kept_rank(width, rank, tasks)
    if kept is None:
        return width * (width + 1) // 2 + width * classes
    directions = min(kept, width) * tasks
    return width * (1 + classes) + (width * directions + 1) // 2


def of_task(sums: ridge.Sums, rank: int | None) -> Kept:
    """Return what is kept of one task.

    Args:
        rank: most directions; None: the whole Gram matrix.
    """
    cross = sums.cross.float()
    if rank is None:
        kept = replace(Kept.empty(len(cross), False), cross=cross, nodes=sums.nodes)
        return replace(kept, gram=ridge.pack(sums.gram).float())
    mean = cross.double()
    within = sums.gram - mean @ mean.T
    return _squeezed(leading(within, rank), within.diagonal(), cross, sums.nodes)


def of_nodes(
    hops: ridge.Hops,
    y: torch.Tensor,
    classes: int,
    lift: ridge.Lift,
    params: RidgeParams,
    rank: int | None,
) -> Kept:
    """Return what is kept of one task's nodes, their Gram matrix formed only where it has to be.

    Args:
        hops, y: as for `ridge.collect`.
    """
    if rank is not None:
        few = sparse_rows.few(hops, y, classes, lift, params)
        if few is not None:
            factors = leading_of(few.within, len(few.cross), rank)
            return _squeezed(factors, few.diagonal(), few.cross.float(), few.nodes)
    return of_task(ridge.collect(hops, y, classes, lift, params), rank)


def _squeezed(
    factors: torch.Tensor, diagonal: torch.Tensor, cross: torch.Tensor, nodes: int
) -> Kept:
    """Return what is kept: directions, and what they leave of the diagonal of S."""
    short = factors.half()
    rest = diagonal - short.double().square().sum(1)
    return Kept(torch.zeros(0), short, rest.clamp(min=0).float(), cross, nodes)


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
    """Return `leading_of` a matrix [P, P] float64."""
    return leading_of(lambda basis: matrix @ basis, len(matrix), rank)


def leading_of(
    times: Callable[[torch.Tensor], torch.Tensor], width: int, rank: int
) -> torch.Tensor:
    """Return B [P, K], K <= rank, with B B^T ~ a positive semidefinite matrix A [P, P], never above
    it: A V (V^T A V)^-1 V^T A, V a basis of A^STEPS times a random matrix.

    It equals the matrix where that has no more than `rank` directions, and has no column more than
    the matrix has directions. Small changes of the matrix change B B^T little, whatever its
    eigenvalues.

    Args:
        times: A times a matrix [P, K] float64.
    """
    columns = min(rank, width)
    if not columns:
        return torch.zeros(width, 0, dtype=torch.float64)
    generator = torch_generator(0, "squeeze")
    basis = torch.randn(width, columns, generator=generator, dtype=torch.float64)
    for _ in range(STEPS):
        basis = torch.linalg.qr(times(basis))[0]
    image = times(basis)
    inner = basis.T @ image
    values, vectors = torch.linalg.eigh((inner + inner.T) / 2)
    used = values > ROUNDING * values.clamp(min=0).max()
    found: torch.Tensor = image @ vectors[:, used] / values[used].sqrt()
    return found
