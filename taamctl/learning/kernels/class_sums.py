"""Sums over the training nodes of every class as whole numbers, so that adding and taking away are
exact.

Profiles have length 1. Each of their numbers is rounded to a multiple of 2^-20, and products of
these are whole multiples of 2^-40. Float64 adds up 8,192 rows of them without rounding, and int64
the rest: no order of nodes, tasks or batches changes a bit, and what is taken away leaves nothing
behind. Rounding moves a profile's number by at most 5e-7. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.learning.kernels import ridge
from taamctl.params.train_params import RidgeParams

STEP = 2.0**20
ROWS = 8192  # of numbers up to 2^20 whose products add up to at most 2^53
MOST = 1 << 22  # rows of a class, all views counted: its sums then stay below 2^63 by half


@dataclass(frozen=True)
class Rows:
    """Some nodes: j -> S^j X, [N, F] of any precision, and their classes, [N] int64 from 0; rows
    that are read from a file come class after class, so that few others are read with them.
    """

    hops: Mapping[int, ridge.HopRows]
    y: Array


@dataclass(frozen=True)
class ClassSums:
    """What is kept of the training nodes of C classes.

    Attributes:
        gram: [C, P (P + 1) / 2] int64, per class the upper half of the sum of phi phi^T over nodes
            and views, times 2^40, row by row.
        cross: [C, P] int64, the sum of phi over nodes and views, times 2^20.
        nodes: [C] int64, how many nodes.
    """

    gram: Array
    cross: Array
    nodes: Array

    @staticmethod
    def empty(classes: int, width: int) -> ClassSums:
        """Return the sums over no node."""
        return ClassSums(
            np.zeros((classes, width * (width + 1) // 2), np.int64),
            np.zeros((classes, width), np.int64),
            np.zeros(classes, np.int64),
        )

    def swapped(self, taken: Rows, put: Rows, lift: ridge.Lift, params: RidgeParams) -> ClassSums:
        """Return the sums without some rows and with others, a class at a time.

        Raises:
            TaamctlError: a class has more nodes than its whole numbers hold.
        """
        made = ClassSums(self.gram.copy(), self.cross.copy(), self.nodes.copy())
        for sign, rows in ((-1, taken), (1, put)):
            made.nodes[:] += sign * np.bincount(rows.y, minlength=len(self.nodes))
        require_countable(made.nodes, len(views_of(params)))
        exact = replace(lift, matrix=lift.matrix.double())
        for c in range(len(self.nodes)):
            for sign, rows in ((-1, taken), (1, put)):
                at = np.flatnonzero(rows.y == c)
                if len(at):
                    gram, cross = _products(rows.hops, at, exact, params)
                    made.gram[c] += sign * gram
                    made.cross[c] += sign * cross
        return made

    def of_task(self, views: int) -> ridge.Sums:
        """Return what a regression needs of the task: every class weighs the same.

        Args:
            views: how many rows every node has in the sums.
        """
        total = np.zeros(self.gram.shape[1])
        cross = np.zeros(self.cross.shape)
        for c, count in enumerate(self.nodes.tolist()):
            if count:
                total += self.gram[c] / (STEP * STEP * views * count)
                cross[c] = self.cross[c] / (STEP * views * count)
        gram = ridge.unpack(torch.from_numpy(total), self.cross.shape[1])
        return ridge.Sums(gram, torch.from_numpy(cross.T.copy()), int(self.nodes.sum()))


def views_of(params: RidgeParams) -> list[Mapping[int, float]]:
    """Return the hops of every row that a node has in the sums, with their weights."""
    wanted: list[Mapping[int, float]] = [params.hops]
    if params.views and len(params.hops) > 1:
        wanted += [{j: 1.0} for j in sorted(params.hops)]
    return wanted


def collect(rows: Rows, classes: int, lift: ridge.Lift, params: RidgeParams) -> ClassSums:
    """Return the sums over some nodes.

    Raises:
        TaamctlError: a class has more nodes than its whole numbers hold.
    """
    features = next(iter(rows.hops.values())).shape[1]
    none = Rows(rows.hops, np.zeros(0, np.int64))
    empty = ClassSums.empty(classes, params.profile_width(features))
    return empty.swapped(none, rows, lift, params)


def _products(
    hops: Mapping[int, ridge.HopRows], rows: Array, lift: ridge.Lift, params: RidgeParams
) -> tuple[Array, Array]:
    """Return the sums over some rows: the packed Gram matrix and the sum of profiles."""
    views = views_of(params)
    width = params.profile_width(next(iter(hops.values())).shape[1])
    square = torch.zeros(width, width, dtype=torch.int64)
    total = torch.zeros(width, dtype=torch.int64)
    for at in _blocks(rows, ROWS // len(views)):
        block = {j: hops[j][at].double() for j in params.hops}
        phi = torch.cat([lift.profile(block, view) for view in views])
        whole = torch.round(phi * STEP)
        _add_product(square, whole)
        total += whole.sum(0).long()
    return ridge.pack(square).numpy(), total.numpy()


def require_countable(nodes: Array, views: int) -> None:
    """Refuse more nodes of a class than its whole numbers hold."""
    if views * int(nodes.max(initial=0)) > MOST:
        raise TaamctlError(
            f"a class of {int(nodes.max()):,} nodes is too large for exact sums: they hold "
            f"{MOST // views:,}",
            "make the bank with --set bank.sums=task",
        )


def _blocks(rows: Array, size: int) -> Iterator[torch.Tensor]:
    for low in range(0, len(rows), size):
        yield torch.from_numpy(rows[low : low + size])


def _add_product(square: torch.Tensor, whole: torch.Tensor) -> None:
    """Add whole^T whole, of the features that occur in these rows."""
    used = (whole != 0).any(0)
    if bool(used.all()):
        square += (whole.T @ whole).long()
        return
    at = used.nonzero()[:, 0]
    product = (whole[:, at].T @ whole[:, at]).long()
    square.index_put_((at[:, None], at), product, accumulate=True)
