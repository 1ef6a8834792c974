"""What a regression takes of memory beside the rows that it is learned from."""

from __future__ import annotations

from taamctl.learning.kernels.ridge import ROWS

PROFILE = 12  # bytes per number of the profiles at work
SOLVED = 16  # P x P matrices of float64 that exist while a regression is solved


def profiles_at_work(width: int) -> int:
    """Return the bytes of the profiles of width P that are in memory at once."""
    return PROFILE * ROWS * width


def bytes_of(width: int, grams: int, nodes: int = ROWS) -> int:
    """Return the bytes of Gram matrices, of profiles at work, and of what solves a regression.

    Args:
        width: P. grams: how many matrices are held. nodes: how many are learned from.
    """
    return PROFILE * min(nodes, ROWS) * width + 8 * (grams + SOLVED) * width**2
