"""How many edges join nodes of one class, beside what chance would give."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from taamctl.core.types import CSR, Array

FEWEST = 30  # edges, of fewer nothing is concluded
CLOSE = 0.02  # a share so near to chance is chance


class Inside(NamedTuple):
    """Edges between two labelled nodes, the share inside a class, and that share by chance."""

    edges: int
    share: float
    chance: float

    @property
    def as_by_chance(self) -> bool:
        """Tell whether edges join classes as if their ends were drawn at random."""
        if self.edges < FEWEST or self.chance >= 1:
            return False
        error = 2 * math.sqrt(self.chance * (1 - self.chance) / self.edges)
        return abs(self.share - self.chance) <= CLOSE + error


def inside(adjacency: CSR, labels: Array, classes: int) -> Inside | None:
    """Return how many edges lie inside a class; None where no edge joins two labelled nodes.

    chance = sum_k p_k q_k, p_k and q_k the shares of edges that begin and end in class k: as in a
    random graph with the same degrees. Self-loops are left out.
    """
    small = labels.astype(np.int32)
    rows = np.repeat(np.arange(len(small), dtype=np.int32), np.diff(adjacency.indptr))
    begin, end = small[rows], small[adjacency.indices]
    keep = (begin >= 0) & (end >= 0) & (rows != adjacency.indices)
    begin, end = begin[keep], end[keep]
    if not len(begin):
        return None
    p, q = (np.bincount(side, minlength=classes) / len(begin) for side in (begin, end))
    return Inside(len(begin), float((begin == end).mean()), float((p * q).sum()))
