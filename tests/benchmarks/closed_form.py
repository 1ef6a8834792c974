"""Closed forms: a ridge chosen and solved at the widths of Photo and Citeseer, by the search over
Cholesky factors and by an eigendecomposition.
"""

from __future__ import annotations

import time

import torch
from timing import best

from taamctl.learning.kernels import ridge_search
from taamctl.learning.kernels.ridge_search import Regression, solved

CLASSES = 6
SHAPES = {"Photo": (1400, 3224), "Citeseer": (3703, 1993)}  # width, training nodes


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


def closed_form(rounds: int = 2) -> dict[str, dict[str, float]]:
    """Return shape -> seconds of CPU by way of solving."""
    found = {}
    for name, shape in SHAPES.items():
        r = drawn(*shape)
        found[name] = best(
            {"factors": lambda r=r: solved(r, None), "eigenvalues": lambda r=r: by_eigenvalues(r)},
            rounds,
            time.process_time,
        )
    return found
