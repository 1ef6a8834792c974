"""Which task a node belongs to, and whether to any: from the sums of all tasks, in an order that
does not depend on their arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.honest import Honest
from taamctl.core.types import Array
from taamctl.learning.kernels import ridge
from taamctl.params.train_params import RidgeParams
from taamctl.propagation.operator import Operator

QUANTILES = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Router:
    """A regression over all classes of a bank, and how its outputs are spread over every class's
    own training nodes.

    Attributes:
        weight: [P, C] float32, classes in the order of the bank's tasks.
        mean, deviation: [C] float64 of a class's own output over its training nodes; both follow
            from the sums, whatever the weights.
        owner: [C] int64, position of the task that owns a class.
        ridge: the penalty that was chosen; None: read from a file that does not say.
        honest: what the bank knows of its answers; None where it keeps no validation nodes.
    """

    weight: torch.Tensor
    mean: Array
    deviation: Array
    owner: Array
    ridge: float | None = None
    honest: Honest | None = None

    def scores(self, profiles: torch.Tensor) -> torch.Tensor:
        """Return the regression's outputs, [N, C]."""
        return profiles @ self.weight

    def novelty(self, scores: torch.Tensor) -> Array:
        """Return how far the largest output lies below the training mean of its class, in standard
        deviations, [N] float64.

        Mean and deviation are recomputed whenever a task is added, which keeps a threshold on this
        meaningful as outputs shrink.
        """
        best, at = scores.max(1)
        value, chosen = best.numpy().astype(np.float64), at.numpy()
        return np.asarray((self.mean[chosen] - value) / self.deviation[chosen])


def solve(
    sums: Sequence[Callable[[], ridge.Sums]], names: Sequence[tuple[str, ...]], params: RidgeParams
) -> Router:
    """Solve the regression of all tasks.

    Tasks are added up in the order of their class names, so that the order in which they arrived
    changes no bit.

    Args:
        sums: per task what returns its sums; one task's are in memory at a time. names: per task
            its class names.
    """
    order = sorted(range(len(sums)), key=lambda t: names[t])
    total = sums[order[0]]()
    for t in order[1:]:
        total = total.joined(sums[t]())
    solved, chosen = ridge.solve(total, params)
    ends = np.cumsum([0, *(len(names[t]) for t in order)])
    blocks = {t: solved[:, ends[i] : ends[i + 1]] for i, t in enumerate(order)}
    spread = [own_spread(sums[t](), blocks[t]) for t in range(len(sums))]
    return Router(
        torch.cat([blocks[t] for t in range(len(sums))], 1).contiguous(),
        np.concatenate([m for m, _ in spread]),
        np.concatenate([d for _, d in spread]),
        owners(names),
        chosen,
    )


def owners(names: Sequence[tuple[str, ...]]) -> Array:
    """Return the position of the task that owns every class, [C] int64."""
    return np.repeat(np.arange(len(names)), [len(n) for n in names])


def own_spread(sums: ridge.Sums, weight: torch.Tensor) -> tuple[Array, Array]:
    """Return mean and standard deviation of every class's output over its own training nodes, [C]
    each, from one task's sums.

    The Gram matrix adds up all classes of the task: w^T G w = sum over classes c of E_c[(w phi)^2].
    Of the other classes, only the squared mean is known and taken off, so the deviation is a little
    too large.
    """
    w = weight.double()
    cross = sums.cross.T @ w  # [class of the nodes, class of the output]
    mean = cross.diagonal()
    others = (cross**2).sum(0) - mean**2
    variance = ((sums.gram @ w) * w).sum(0) - others - mean**2
    return mean.numpy(), variance.clamp(min=1e-6).sqrt().numpy()


def around(values: Array, operator: Operator) -> Array:
    """Return the mean of a node's value and of the S-weighted mean of the values that it
    receives, its own included, [N] float64.
    """
    step = operator.exact_step
    return np.asarray((values + step(values) / step(np.ones(len(values)))) / 2)


def quantiles(novelty: Array) -> Array:
    """Return the table of a task's validation nodes, [101] float64; NaN without a node."""
    return np.quantile(novelty, QUANTILES) if len(novelty) else np.full(len(QUANTILES), np.nan)


def thresholds(tables: Sequence[Array], rate: float) -> Array:
    """Return per task the novelty above which a node is unknown, so that `rate` of its
    validation nodes would be; inf: never.
    """
    if rate <= 0:
        return np.full(len(tables), np.inf)
    cut = [np.interp(1 - rate, QUANTILES, table) for table in tables]
    return np.where(np.isnan(cut), np.inf, cut)
