"""Closed forms: a ridge chosen and solved at the widths of Photo and Citeseer, by one
reduction to a tridiagonal matrix, by an eigendecomposition, and in the width of the directions that
are kept.
"""

from __future__ import annotations

import time

import torch
from timing import best

from taamctl.learning.kernels import ridge_search
from taamctl.learning.kernels.low_rank import LowRank
from taamctl.learning.kernels.regression import Regression, solved

CLASSES = 6
SHAPES = {"Photo": (1400, 3224), "Citeseer": (3703, 1993)}  # width, training nodes
COLUMNS = {"Photo": 264, "Citeseer": 198}  # directions of all tasks, and class means


def drawn(width: int, nodes: int) -> Regression:
    """Return sums over random rows around class means."""
    rng = torch.Generator().manual_seed(0)
    y = torch.randint(CLASSES, (nodes,), generator=rng)
    rows = torch.randn(nodes, width, generator=rng).double()
    rows += torch.randn(CLASSES, width, generator=rng).double()[y] / 8
    rows *= (CLASSES / nodes) ** 0.5
    targets = torch.nn.functional.one_hot(y, CLASSES).double() * (CLASSES / nodes) ** 0.5
    return Regression(rows.T @ rows, rows.T @ targets, nodes)


def by_eigenvalues(r: Regression) -> torch.Tensor:
    """Return X of the ridge with the lowest score of all, every score from eigenvalues."""
    values, vectors = torch.linalg.eigh(r.matrix)
    turned = vectors.T @ r.targets
    ridges = torch.tensor(ridge_search.GRID, dtype=torch.float64)
    shrunk = values[None] + ridges[:, None]
    squares = (turned**2).sum(1)
    residual = CLASSES - (squares / shrunk).sum(1) - ridges * (squares / shrunk**2).sum(1)
    scores = residual / (1 - (values / shrunk).sum(1) / r.nodes) ** 2
    return vectors @ (turned / shrunk[scores.argmin()][:, None])


def squeezed(r: Regression, columns: int) -> LowRank:
    """Return a system of as many rows, with random directions and a diagonal of ones."""
    rng = torch.Generator().manual_seed(1)
    factors = torch.randn(len(r.matrix), columns, generator=rng).double() / columns**0.5
    return LowRank(factors, torch.ones(len(factors), dtype=torch.float64), r.targets, r.nodes)


def by_directions(system: LowRank) -> torch.Tensor:
    """Return X of the ridge with the lowest score of all."""
    return system.solution(system.chosen_ridge())


def closed_form(rounds: int = 2) -> dict[str, dict[str, float]]:
    """Return shape -> seconds of CPU by way of solving."""
    found = {}
    for name, shape in SHAPES.items():
        r = drawn(*shape)
        few = squeezed(r, COLUMNS[name])
        found[name] = best(
            {
                "one reduction": lambda r=r: solved(r, None),
                "eigenvalues": lambda r=r: by_eigenvalues(r),
                "directions": lambda few=few: by_directions(few),
            },
            rounds,
            time.process_time,
        )
    return found
