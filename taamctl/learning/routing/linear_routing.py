"""The routers that learn from sums over training nodes, as they are after every stage: a stage's
are solved from the tasks seen by then, and from no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.routings import LINEAR
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.kernels import ridge
from taamctl.learning.routing import routers
from taamctl.params.train_params import RidgeParams
from taamctl.propagation import group_graph

# Of the random features. It is the same for every seed of the training, so that all seeds of a
# run are routed alike.
SEED = 0
Weights: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"


@dataclass(frozen=True)
class RouterSettings:
    """How node profiles are made and how sharp a posterior is: `lens.router`, `lens.temperature`.

    Attributes:
        ridge: of the profiles and their regression.
        temperature: outputs times this become a log posterior.
    """

    ridge: RidgeParams
    temperature: float


class LinearRouters:
    """The routers of some stages.

    Args:
        tasks: returns the training part of a task, with raw features and edges.
        stages: for which they are wanted.
    """

    def __init__(
        self,
        tasks: Sequence[Callable[[], TaskData]],
        info: StreamInfo,
        settings: RouterSettings,
        stages: Iterable[int],
    ) -> None:
        self.info = info
        self._settings = settings
        self._lift = ridge.Lift.draw(info.num_features, settings.ridge, SEED)
        self.solved: dict[int, dict[str, Weights]] = {}
        wanted = set(stages)
        total: ridge.Sums | None = None
        for stage, load in enumerate(tasks[: max(wanted, default=-1) + 1]):
            own = self.sums(load())
            total = own if total is None else total.joined(own)
            if stage in wanted:
                self.solved[stage] = routers.linear_scores(
                    total, settings.ridge, settings.temperature
                )

    def sums(self, data: TaskData) -> ridge.Sums:
        """Return the sums over the training nodes of one task."""
        params = self._settings.ridge
        hops = group_graph.hop_rows(data.h, data.extras, params.hops, self.info.hops)
        return ridge.collect(
            hops, data.y - data.task.low, len(data.task.classes), self._lift, params
        )

    def values(self, query: QueryGraph) -> dict[tuple[str, int], Array]:
        """Return (router, stage) -> every node's log posterior over the tasks seen, [N, stage + 1]
        float64; a graph's is the mean of its nodes'.
        """
        weights = self._settings.ridge.hops
        hops = group_graph.hop_rows(query.h, query.extras, weights, self.info.hops)
        phi = self._lift.profile(hops, weights)
        found = {}
        for stage, solved in self.solved.items():
            for name in LINEAR:
                matrix, shift = solved[name]
                posterior = routers.task_log_posterior(
                    phi @ matrix + shift, self.info.bounds[: stage + 1]
                )
                found[name, stage] = np.asarray(posterior.double().numpy())
        return found
