"""How sure a task-ID decision is: the share right among halves of a task's validation nodes.

A test graph is one more draw of nodes like those of validation, and a half of them is such a draw
that can be looked at: it is routed as a graph of its own, again and again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DRAWS = 100  # halves of every task


def drawn(y: Array, task: int) -> csr_matrix:
    """Return `DRAWS` halves of a task's nodes as rows of weights that average over a half,
    [DRAWS, N] float64. Of every class about half is in each, as in a split; a half has one node at
    least.

    Args:
        y: [N] classes of the nodes. task: its number; the draws depend on nothing else.
    """
    import scipy.sparse as sp

    rng = numpy_generator(0, "routing/halves", task)
    members = [np.flatnonzero(y == c) for c in np.unique(y)]
    chosen = [_half(members, rng) for _ in range(DRAWS)]
    sizes = np.array([len(half) for half in chosen])
    weights = np.repeat(1 / sizes, sizes)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sp.csr_matrix((weights, np.concatenate(chosen), indptr), shape=(DRAWS, len(y)))


def _half(members: list[Array], rng: np.random.Generator) -> Array:
    """Return a half of every class; of an odd number one more or one less, by chance."""
    sizes = [(len(ids) + int(rng.integers(2))) // 2 for ids in members]
    if not sum(sizes):
        sizes[int(rng.integers(len(sizes)))] = 1
    picked = [rng.permutation(ids)[:size] for ids, size in zip(members, sizes, strict=True)]
    return np.concatenate(picked)


def share(scores: Array, task: int) -> float:
    """Return the share of halves, [DRAWS, K], whose largest score is that of their own task."""
    return float((scores.argmax(1) == task).mean())
