"""What a method may keep of earlier data: counted in its states, and held to the budget that it
declares; and how rows are picked.
"""

from __future__ import annotations

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.learning.contract.method import Method, State

PREFIX = "memory/"
CAP = 1000  # rows that coverage is counted among


class OverBudget(TaamctlError):
    """A method keeps more than it declares."""


def rows_of(state: State) -> int:
    """Return the data rows in a state: the labels of its memory."""
    return len(state.get(f"{PREFIX}y", ()))


def words_of(arrays: State, *, memory: bool) -> int:
    """Return the float32-sized words of a state's memory arrays, or of all its others."""
    return sum(-(-a.nbytes // 4) for name, a in arrays.items() if name.startswith(PREFIX) == memory)


def enforce(
    method: Method, state: State, training: State, rows_before: int, class_sizes: Array
) -> int:
    """Refuse a state that holds more than the method declares; return the rows kept so far.

    Rows are held to `stored(class_sizes).rows` of the classes seen, at F + 2 words a row (and one
    for marks); everything else of a state to net, parameters and uncounted words; what training
    carries over to two moments of every trained word.

    Args:
        state, training: what the stage just learned returned.
        rows_before: rows kept by earlier stages.
        class_sizes: [C] training nodes per class seen so far, 0 for later ones.

    Raises:
        OverBudget: the method keeps more than it declares.
    """
    declared = method.stored(class_sizes)
    trained = declared.net + declared.parameters
    rows = rows_of(state)
    width = method.info.num_features + 3
    moments = words_of(training, memory=False) + words_of(training, memory=True)
    for what, kept, most in (
        ("rows of earlier data", rows_before + rows, declared.rows),
        ("words in its memory", words_of(state, memory=True), rows * width),
        ("words beside its memory", words_of(state, memory=False), trained + declared.uncounted),
        ("words for the optimiser", moments, 2 * trained + len(training)),
    ):
        if kept > most:
            raise OverBudget(
                f"{method.facts.title} keeps {kept:,} {what}, but declares {most:,}",
                "declare it in the method's `stored`, or keep less",
            )
    return rows_before + rows


def seen_sizes(class_sizes: Array, high: int) -> Array:
    """Return class sizes with the classes from `high` on set to zero."""
    return np.where(np.arange(len(class_sizes)) < high, class_sizes, 0)


def per_class(y: torch.Tensor, budget: int, classes: range) -> list[tuple[int, torch.Tensor, int]]:
    """Return (class, its rows in ascending order, min(budget, N_c)) of every class that has a row.

    Args:
        y: [N] class ids.
    """
    found = [(c, torch.nonzero(y == c).flatten()) for c in classes]
    return [(c, rows, min(budget, len(rows))) for c, rows in found if len(rows)]


def pick_random(
    rows: torch.Tensor, count: int, generator: torch.Generator, weights: torch.Tensor | None = None
) -> torch.Tensor:
    """Return `count` of `rows` without replacement, ascending; with probability proportional to
    `weights` where given.

    Weighted draws are Efraimidis and Spirakis' (2006): the largest u^(1/w) win.
    """
    keys = torch.rand(len(rows), generator=generator, dtype=torch.float64)
    if weights is not None:
        keys = keys.log() / weights.double().cpu().clamp(min=1e-12)
    return rows[keys.argsort(descending=True, stable=True)[:count].sort().values.to(rows.device)]


def pick_by_mean(x: torch.Tensor, rows: torch.Tensor, count: int) -> torch.Tensor:
    """Return the `count` rows nearest to their mean ("mean of features"), ascending."""
    distance = (x[rows] - x[rows].mean(0)).norm(dim=1)
    return rows[distance.argsort(stable=True)[:count].sort().values]


def pick_by_coverage(
    x: torch.Tensor,
    rows: torch.Tensor,
    others: torch.Tensor,
    count: int,
    distance: float,
    generator: torch.Generator,
) -> torch.Tensor:
    """Return the `count` rows with the fewest rows of other classes within `distance` ("coverage
    maximisation").

    Ties go to the lower row, so where no distance is that small the first rows are taken
    (bag-of-words features). Candidates and others are subsampled to `CAP`; the published code then
    indexes the full list with the subsample's ranks, this does not.
    """
    if len(rows) > max(CAP, count):
        rows = pick_random(rows, max(CAP, count), generator)
    if len(others) > CAP:
        others = pick_random(others, CAP, generator)
    near = (torch.cdist(x[rows], x[others]) < distance).sum(1)
    return rows[near.argsort(stable=True)[:count].sort().values]


def evenly(sizes: list[int], budget: int) -> list[int]:
    """Share a budget of rows over classes as evenly as their sizes allow; what is left goes to
    the first classes with room.
    """
    quota = [0] * len(sizes)
    left = min(budget, sum(sizes))
    while left:
        unfilled = [i for i, n in enumerate(sizes) if quota[i] < n]
        share = max(1, left // len(unfilled))
        for i in unfilled:
            step = min(share, sizes[i] - quota[i], left)
            quota[i] += step
            left -= step
    return quota


def proportionally(sizes: list[int], budget: int) -> list[int]:
    """Share a budget of rows over classes in proportion to their sizes: at least one each, no
    more than there are.
    """
    total = sum(sizes)
    quota = [min(n, max(1, budget * n // total)) for n in sizes]

    def filled(i: int) -> tuple[float, int]:
        return quota[i] / sizes[i], i

    while sum(quota) < min(budget, total):
        quota[min((i for i, n in enumerate(sizes) if quota[i] < n), key=filled)] += 1
    while sum(quota) > budget and max(quota) > 1:
        quota[max((i for i, q in enumerate(quota) if q > 1), key=filled)] -= 1
    return quota
