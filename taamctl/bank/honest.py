"""What a bank knows of its own answers, from the validation nodes that it keeps: how probable they
are, how large a set has to be, and when a node is unknown. Fitted anew with every change of the
bank, and written beside the router.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.signs import Signs
from taamctl.bank.surplus import Surplus, beside
from taamctl.core.types import Array
from taamctl.store import artefacts

LEVELS = np.linspace(0, 1, 101)
DRAWS = 3  # of stand-ins, where a graph is so small that it is taken several times


@dataclass(frozen=True)
class Honest:
    """What was fitted.

    Attributes:
        temperature: the outputs times this are a posterior whose log loss is least.
        ridge: penalty of the regression.
        missing: [101] quantiles of 1 - p(right class), with `nodes` validation nodes.
        pull, rarity, means: see `Signs`; means is None in a bank that was made before there
            was the surplus.
        centre, scale, weight: [5] of its signs and the surplus; [4] without means.
        usual: [101] quantiles of how unlike validation nodes look.
        stand_ins: [101] the same after each was exchanged for another of its class.
    """

    temperature: float
    ridge: float
    missing: Array
    nodes: int
    pull: Array
    rarity: Array
    centre: Array
    scale: Array
    weight: Array
    usual: Array
    stand_ins: Array
    means: Array | None = None

    def unlike(
        self,
        signs: Signs,
        profiles: torch.Tensor,
        scores: torch.Tensor,
        surplus: Surplus | None,
        low: int,
    ) -> Array:
        """Return how unlike known nodes some look, before neighbours are asked, [N] float64.

        Args:
            surplus: of the graph. low: which of its nodes is the first.
        """
        found = signs.of(profiles, scores.numpy().astype(np.float64))
        if self.means is not None:
            found = beside(found, surplus, profiles, low)
        return weighed(found, self.centre, self.scale, self.weight)

    def limit(self, rate: float, stand_ins: Array) -> float:
        """Return from where on a node of a graph is unknown.

        What the same graph says of validation nodes in the place of its own tells how its edges
        change the score; how they differ from real nodes is known from the validation graphs. Nodes
        of a class are off together: of several draws, the most careful one counts.

        Args:
            rate: of false alarms, above 0 and below 1.
            stand_ins: [copies, N] what the stand-ins in copies of this graph look like.
        """
        if self.means is None:
            return self._limit(rate, stand_ins)
        draws = np.array_split(stand_ins, min(DRAWS, len(stand_ins)))
        return max(self._limit(rate, draw) for draw in draws)

    def _limit(self, rate: float, stand_ins: Array) -> float:
        level = 1 - rate
        middle = level / 2
        here, there = np.quantile(stand_ins, [middle, level])
        low, high = np.interp([middle, level], LEVELS, self.stand_ins)
        seen = np.interp(level, LEVELS, self.usual)
        return float(here + (seen - low) * (there - here) / max(high - low, 1e-9))

    def least(self, coverage: float) -> float:
        """Return the probability from which on a class belongs to a set that is to hold the right
        one with this probability; 0 where so few nodes cannot tell it.
        """
        level = coverage * (1 + 1 / max(self.nodes, 1))
        if level > 1:
            return 0.0
        return 1 - float(np.interp(level, LEVELS, self.missing))

    def sets(self, probabilities: Array, coverage: float) -> Array:
        """Return which classes belong to a node's set, [N, C] bool: the likeliest always."""
        found = probabilities >= self.least(coverage)
        found[np.arange(len(found)), probabilities.argmax(1)] = True
        return found

    def arrays(self) -> Iterator[tuple[str, object]]:
        """Yield the arrays of the router's file."""
        yield "honest/fitted", np.array([self.temperature, self.nodes, self.ridge])
        for name in ("missing", "pull", "rarity", "usual", "stand_ins"):
            yield f"honest/{name}", getattr(self, name)
        yield "honest/signs", np.stack([self.centre, self.scale, self.weight])
        if self.means is not None:
            yield "honest/means", self.means


def weighed(signs: Array, centre: Array, scale: Array, weight: Array) -> Array:
    """Return one number for the signs of every node, [N] float64."""
    return np.asarray(((signs - centre) / scale) @ weight)


def read_honest(file: artefacts.Artefact) -> Honest | None:
    """Read what was fitted; None where the bank keeps no validation nodes."""
    if not file.has("honest/fitted"):
        return None
    temperature, nodes, penalty = file.read("honest/fitted").tolist()
    centre, scale, weight = file.read("honest/signs")
    means = file.read("honest/means") if file.has("honest/means") else None
    return Honest(
        temperature,
        penalty,
        file.read("honest/missing"),
        int(nodes),
        file.read("honest/pull"),
        file.read("honest/rarity"),
        *(centre, scale, weight),
        file.read("honest/usual"),
        file.read("honest/stand_ins"),
        means,
    )
