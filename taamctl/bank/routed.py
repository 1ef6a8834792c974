"""What a bank's router says of the nodes of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.types import Array


@dataclass(frozen=True)
class Routed:
    """What the router says.

    Attributes:
        posterior: [N, T] float32, of the tasks; the same for all nodes of a unit.
        best: [N, T] int32, the likeliest class inside every task, and inside: [N, T] float32, its
            share of the task's posterior.
        novelty: [N] float64.
        probabilities: [N, C] float32 of all classes, where they are wanted.
    """

    posterior: Array
    best: Array
    inside: Array
    novelty: Array
    probabilities: Array | None = None

    def first(self, n: int) -> Routed:
        """Return the same of the first n nodes."""
        probabilities = None
        if self.probabilities is not None:
            probabilities = self.probabilities[:n]
        return Routed(
            *(self.posterior[:n], self.best[:n], self.inside[:n], self.novelty[:n]), probabilities
        )

    def label(self) -> Array:
        """Return the likeliest class of every node, [N] int32."""
        task = (self.posterior * self.inside).argmax(1)
        return np.asarray(self.best[np.arange(len(task)), task])
