"""How sure a task-ID decision is: the share right among halves of a task's validation nodes.

A test graph is one more draw of nodes like those of validation, and a half of them is such a draw
that can be looked at: it is routed as a graph of its own, again and again.

A half lies nearer to validation than a test graph does. Of n nodes with variance s^2 the mean of a
half drawn without putting back differs from the mean of all by s^2 / n, the mean of n new ones by
2 s^2 / n. So every half is moved away from the mean of all, to sqrt(2) times the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DRAWS = 100  # halves of every task
SPREAD = 2**0.5  # times as far from the mean of all as a half is, a test graph is
MOST = 2000  # nodes of a task that are looked at: more would cost time and change nothing


def drawn(y: Array, task: int) -> csr_matrix:
    """Return halves of a task's nodes as rows of weights, [DRAWS, N], that sum to 1: those of the
    average over a half, `SPREAD` times as far from the average over all. Of every class about half
    is in each, as in a split; a half has one node at least. Of more than `MOST` nodes, `MOST` are
    looked at.

    Args:
        y: [N] classes of the nodes, N > 0. task: its number; the draws depend on nothing else.
    """
    import scipy.sparse as sp

    rng = numpy_generator(0, "routing/halves", task)
    looked_at = rng.permutation(len(y))[:MOST]
    out = np.zeros((DRAWS, len(y)))
    for c in np.unique(y[looked_at]):
        ids = looked_at[y[looked_at] == c]
        rank = rng.random((DRAWS, len(ids))).argsort(1).argsort(1)
        # of an odd number one more or one less, by chance
        take = (len(ids) + rng.integers(2, size=DRAWS)) // 2
        out[:, ids] = rank < take[:, None]
    out[out.sum(1) == 0, looked_at[0]] = 1
    out /= out.sum(1, keepdims=True)
    mean = np.zeros(len(y))
    mean[looked_at] = 1 / len(looked_at)
    return sp.csr_matrix(mean + SPREAD * (out - mean))


@dataclass
class Shares:
    """The share of halves right, by routing.

    Attributes:
        num_tasks: T.
        by_name: routing -> [stage, task] float64; NaN where a task was not seen, has no validation
            node, or the routing was not looked at.
    """

    num_tasks: int
    by_name: dict[str, Array] = field(default_factory=dict)

    def put(self, routing: str, stage: int, task: int, scores: Array) -> None:
        """Set the share of one task at a stage.

        Args:
            scores: [DRAWS, K] of the halves; the largest one decides.
        """
        t = self.num_tasks
        if routing not in self.by_name:
            self.by_name[routing] = np.full((t, t), np.nan)
        self.by_name[routing][stage, task] = (scores.argmax(1) == task).mean()

    def worst(self, routing: str, stage: int) -> float:
        """Return the smallest share of the tasks seen at a stage; 1 where there is none."""
        return float(self._known(routing, stage).min(initial=1.0))

    def best(self, names: Sequence[str], stage: int) -> str:
        """Return the routing by which most halves of the tasks seen at a stage are routed right;
        of equal ones the first.
        """
        found = [self._known(name, stage) for name in names]
        means = np.array([shares.mean() if len(shares) else 0.0 for shares in found])
        return names[int(means.argmax())]

    def _known(self, routing: str, stage: int) -> Array:
        found = self.by_name[routing][stage]
        return np.asarray(found[~np.isnan(found)])
