"""Seconds that some work took, measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from taamctl.core.late_torch import torch

CALLS = 3  # of short work


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, and of all processors."""

    wall: float = 0.0
    cpu: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        """Return both after each other."""
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Spent) -> Spent:
        """Return what is left of it, never less than nothing."""
        return Spent(max(0.0, self.wall - other.wall), max(0.0, self.cpu - other.cpu))

    def __mul__(self, times: float) -> Spent:
        """Return it so many times."""
        return Spent(self.wall * times, self.cpu * times)


def spent(work: Callable[[], object]) -> Spent:
    """Return what some work takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def least_spent(work: Callable[[], object]) -> Spent:
    """Return the least of what some short work takes in a few calls: it is multiplied by many, so
    that what disturbs one call would be too.
    """
    return min((spent(work) for _ in range(CALLS)), key=lambda one: one.cpu)
