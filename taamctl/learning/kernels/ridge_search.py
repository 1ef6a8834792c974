"""The ridges that a regression chooses from, and the choice: the one with the lowest score.

Scores have several lows where nodes are few, so every ridge is tried. A residual is a lower bound
of its score: where it is above the lowest score so far, a score need not be told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

GRID = tuple(10.0 ** (place / 4) for place in range(-8, 5))  # four a decade

# Takes a ridge, and the lowest score so far: above it a lower bound will do.
Score: TypeAlias = "Callable[[float, float], float]"


def chosen(score: Score) -> float:
    """Return the first ridge of `GRID` with the lowest score; the last where all are inf, since
    more freedom is left at a larger ridge.
    """
    ridge: float = GRID[-1]
    lowest = math.inf
    for candidate in GRID:
        found = score(candidate, lowest)
        if found < lowest:
            ridge, lowest = candidate, found
    return ridge
