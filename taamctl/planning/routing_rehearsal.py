"""What it takes to infer task IDs, and to tell how sure they are, measured on drawn rows.

Prototypes are compared with halves of validation nodes. Routers that learn from sums take far more:
sums over all training nodes, and a regression at each of the stages where they are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.routings import LINEAR
from taamctl.core.types import Array
from taamctl.learning.routing import node_profiles, routing_choice
from taamctl.learning.routing.linear_routing import LinearRouters
from taamctl.learning.routing.routing_choice import NEEDS, Asked
from taamctl.planning.costs import HASHED, Counts
from taamctl.planning.drawn_stream import DrawnStage
from taamctl.planning.solving import Solving
from taamctl.planning.spent import Spent, spent

ASSUMED = (
    "infer.router auto is priced as if it looked at regressions at every stage; where prototypes "
    "are sure it takes less: once features are there, a plan sees where"
)


@dataclass(frozen=True)
class RoutingRehearsal:
    """The task IDs of one stream.

    Attributes:
        hops: k of H = S^k X. asked: how tasks are told apart.
        stages: at which routers that learn from sums are looked at; None: not known before.
        halves: raw features and edges are stored, so halves can be looked at.
    """

    counts: Counts
    hops: int
    asked: Asked
    stages: Sequence[int] | None = None
    halves: bool = True

    @cached_property
    def taken(self) -> Spent:
        """What deciding all tasks takes beside the answers; measured once, by as many threads as
        are set.
        """
        if not self.asked.inferred:
            return Spent()
        found = Spent()
        if self.halves:
            found += self._by_prototypes()
        wanted = self.wanted()
        if wanted:
            found += self._by_sums(wanted)
        return found

    @property
    def note(self) -> str:
        """What the price rests on, in words; empty where nothing had to be assumed."""
        if self.asked.infer.router == "auto" and self.stages is None and self.wanted():
            return ASSUMED
        return ""

    def wanted(self) -> list[int]:
        """Return the stages at which routers that learn from sums are looked at: where that is not
        known before, all at which there is a choice.
        """
        if not self.asked.inferred:
            return []
        every = list(range(self.counts.tasks))
        if self.asked.infer.router in LINEAR:
            return every
        if self.asked.infer.router != "auto" or not self.halves:
            return []
        return every[1:] if self.stages is None else list(self.stages)

    def _by_prototypes(self) -> Spent:
        """Return what halves take: those of the first task meet prototypes at every stage, those of
        the last at one.
        """
        tasks = self.counts.tasks
        stage = DrawnStage(self.counts, self.hops, 0)
        query = stage.query(NEEDS)
        low, high = stage.info.bounds[0]
        labels = np.arange(len(query.h)) % (high - low)
        prototypes = self._prototypes()

        def nodes() -> node_profiles.Nodes:
            width, made_with = self.counts.features, self.asked.precompute
            return node_profiles.nodes_of(query.extras, width, 0, made_with)

        def compare(task: int) -> None:
            loads = [nodes if k == task else None for k in range(tasks)]
            own, smoothed = [labels] * tasks, self.asked.precompute.ls_hops
            routing_choice.prototype_shares(prototypes, loads, own, self.asked.infer, smoothed)

        compare(0)
        both = spent(lambda: compare(0)) + spent(lambda: compare(tasks - 1))
        of_all = self.counts.val / len(query.h)
        read = 8.0 * self.counts.val * self.counts.filled * self.counts.features / HASHED
        return both * (of_all / 2) + Spent(read, read)

    def _prototypes(self) -> list[tuple[Array, Array]]:
        rng = np.random.default_rng(0)
        width, hops = self.counts.features, self.asked.precompute.max_hop + 1
        return [
            (rng.standard_normal((hops, width)).astype(np.float32), rng.standard_normal((2, width)))
            for _ in range(self.counts.tasks)
        ]

    def _by_sums(self, wanted: Sequence[int]) -> Spent:
        """Return what routers that learn from sums take at some stages."""
        counts, settings = self.counts, self.asked.linear
        stage = DrawnStage(counts, self.hops, 0)
        (data,) = stage.data(NEEDS)
        made = LinearRouters([], stage.info, settings, ())
        width = settings.ridge.profile_width(counts.features)
        made.sums(data)
        summed = spent(lambda: made.sums(data)) * (stage.cut * (max(wanted) + 1))
        solving = Solving.measured(width, counts.classes)
        solved = (solving.ridge(settings.ridge.ridge) + solving.discriminant) * len(wanted)
        return summed + solved + self._scored(made, stage, width, wanted)

    def _scored(
        self, made: LinearRouters, stage: DrawnStage, width: int, wanted: Sequence[int]
    ) -> Spent:
        """Return what the log posteriors of all query graphs take: profiles once, and products with
        the weights of every stage.
        """
        query = stage.query(NEEDS)
        weights = (torch.zeros(width, self.counts.classes), torch.zeros(self.counts.classes))
        made.values(query)
        profiles = spent(lambda: made.values(query))
        made.solved[self.counts.tasks - 1] = dict.fromkeys(LINEAR, weights)
        scores = spent(lambda: made.values(query)) - profiles
        graphs = (self.counts.val + self.counts.test) / len(query.h)
        return (profiles + scores * len(wanted)) * graphs
