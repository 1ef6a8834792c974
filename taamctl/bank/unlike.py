"""How unlike known nodes those of a graph look by themselves, before their neighbours are asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
import torch

from taamctl.bank.open_bank import HopRows
from taamctl.bank.router import Router
from taamctl.bank.signs import Signs
from taamctl.bank.surplus import Surplus, room, sampled, surplus
from taamctl.core.types import Array
from taamctl.learning.kernels.ridge import Lift


class Unlike:
    """One bank's judgement.

    Args:
        weights: of the hops of a profile.
    """

    def __init__(self, router: Router, lift: Lift, weights: Mapping[int, float]) -> None:
        self._router = router
        self._lift = lift
        self._weights = weights

    def profiles(
        self, hops: HopRows, low: int, high: int, chosen: Array | None = None
    ) -> torch.Tensor:
        """Return the profiles of nodes [low, high), or of the chosen ones of these, [n, P]."""
        rows = {j: hops.rows(j, low, high) for j in self._weights}
        if chosen is not None:
            rows = {j: x[chosen] for j, x in rows.items()}
        return self._lift.profile({j: torch.from_numpy(x) for j, x in rows.items()}, self._weights)

    def room(self, copies: int) -> int:
        """Return the bytes that `surplus` needs, of so many copies of a graph."""
        honest = self._router.honest
        if honest is None or honest.means is None:
            return 0
        return room(len(honest.means), copies)

    def surplus(
        self, hops: HopRows, copy: Array, blocks: Iterable[tuple[int, int]]
    ) -> Surplus | None:
        """Return what a graph's nodes tell; None where the bank does not ask, or there is none.

        Args:
            copy: [N] see `Surplus`. blocks: (low, high) of rows that are read at once.
        """
        honest = self._router.honest
        if honest is None or honest.means is None or not len(copy):
            return None
        places = sampled(copy)
        found = []
        for low, high in blocks:
            here = places[np.searchsorted(places, low) : np.searchsorted(places, high)] - low
            if len(here):
                found.append(self.profiles(hops, low, high, here))
        some = torch.cat(found)
        answered = self._router.scores(some).argmax(1).numpy()
        means, mass = torch.from_numpy(honest.means), np.ones(len(places))
        return surplus(some, answered, means, places, copy, mass)

    def of(
        self, profiles: torch.Tensor, scores: torch.Tensor, told: Surplus | None, low: int
    ) -> Array:
        """Return one number a node, [n] float64.

        Args:
            scores: [n, C], the regression's outputs. told: by the graph. low: which of its nodes
                is the first.
        """
        honest = self._router.honest
        if honest is None:
            return self._router.novelty(scores)
        return honest.unlike(self._signs, profiles, scores, told, low)

    @cached_property
    def _signs(self) -> Signs:
        router, honest = self._router, self._router.honest
        assert honest is not None
        return Signs(router.weight, router.mean, router.deviation, honest.pull, honest.rarity)
