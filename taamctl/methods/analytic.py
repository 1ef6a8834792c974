"""Analytic: ridge regression in closed form over all classes seen, from sums that every task
adds to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Facts, State, Stored, to_arrays, to_tensors
from taamctl.learning.contract.method import Method as Base
from taamctl.learning.kernels import ridge, squeezed
from taamctl.params.train_params import RidgeParams
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class Params(RidgeParams):
    """Node profiles, their regression, and what is kept of the nodes of a task."""

    rank: int | None = param(
        "what is kept of a task's covariance within classes: r = r leading directions and the "
        "diagonal, or the whole Gram matrix of all tasks where that takes no more; 0 = the "
        "diagonal alone; null = the whole Gram matrix",
        ge=0,
    )
    ridge_factor: float = param(
        "where the covariance is not kept whole and ridge is null: the ridge is this times that of "
        "generalised cross-validation",
        gt=0,
    )
    random_weight: float = param(
        "where the covariance is not kept whole: length of the random ReLU features of a profile, "
        "beside features of length 1; else both have length 1",
        gt=0,
    )


class Method(Base):
    """W = (G + r D)^-1 Q with G = sum of w_v phi_v phi_v^T and Q = sum of w_v phi_v y_v^T, w_v = 1
    / N_c, over the nodes of all tasks.

    No task ID, no gradient, no data kept: after any order of tasks W is the same to rounding. G is
    kept whole, or its part within classes by the leading directions of every task. For nodes of
    unsorted graphs. Source: ACIL (2022), AL-GNN (2025) on graphs; node profiles of mixed hops, the
    ridge from the sums and what is kept of them are ours.
    """

    facts = Facts(
        title="Analytic",
        family="closed form",
        source="ACIL (2022), AL-GNN (2025)",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
        memory="sums over nodes: directions per task, or a Gram matrix, and a column per class",
    )
    params: Params

    work = "ridge"
    epochs = 1

    def setup(self) -> None:
        """Draw the random matrix of the profiles, and begin with empty sums."""
        self._lift = ridge.Lift.draw(self.info.num_features, self.params, self.seed)
        width = self.params.profile_width(self.info.num_features)
        self._rank = squeezed.kept_rank(width, self.params.rank, self.info.num_tasks)
        self._factor = 1.0
        if self._rank is not None:
            self._factor = self.params.ridge_factor
            # Random features have no leading directions: what is kept blurs them most.
            self._lift = replace(self._lift, weight=self.params.random_weight)
        self._kept = squeezed.Kept.empty(width, self._rank is None)
        self._weight = torch.zeros(width, 0)

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Add one task to the sums and solve; return the share of its training nodes that are
        wrong.
        """
        data = tasks[-1]
        y = data.y.to(self.device)
        hops = self._hops(data.h, data.extras)
        classes = data.task.high - data.task.low
        mine = squeezed.of_nodes(
            hops, y - data.task.low, classes, self._lift, self.params, self._rank
        )
        self._kept = self._kept.joined(mine)
        self._weight, _ = self._kept.solve(self.params, self._factor)
        progress.advance(self.steps(data.task.index))
        predicted = self._scores(hops).argmax(1)
        return np.array([(predicted != y).float().mean().cpu()], np.float32)

    def shared(self) -> dict[str, Array]:
        """Return the random matrix of the profiles, frozen as a backbone is."""
        return {"lift": self._lift.matrix.numpy()}

    def state(self) -> dict[str, Array]:
        """Return the weights [P, seen] of the stage."""
        return {"weight": self._weight.numpy()}

    def training_state(self) -> dict[str, Array]:
        """Return the sums that the next task adds to."""
        return to_arrays(self._kept.arrays())

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the weights of the last stage, and the sums where training goes on."""
        cpu = torch.device("cpu")
        if shared:
            self._lift = replace(self._lift, matrix=to_tensors(shared, cpu)["lift"])
        self._weight = to_tensors(states[-1], cpu)["weight"]
        if training:
            self._kept = squeezed.Kept.from_arrays(to_tensors(training, cpu))

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the regression's outputs; the task ID is not used."""
        return self._scores(self._hops(query.h, query.extras))

    def _hops(self, h: torch.Tensor, extras: Mapping[str, Array]) -> dict[int, torch.Tensor]:
        found = group_graph.hop_rows(h, extras, self.params.hops, self.info.hops)
        return {j: x.to(self.device) for j, x in found.items()}

    def _scores(self, hops: ridge.Hops) -> torch.Tensor:
        return self._lift.profile(hops, self.params.hops) @ self._weight.to(self.device)

    def stored(self, class_sizes: Array) -> Stored:
        """Return the sums; the weights follow from them."""
        info, params = self.info, self.params
        width = params.profile_width(info.num_features)
        words = squeezed.words(width, info.num_classes, params.rank, info.num_tasks)
        return Stored(parameters=words, net=self._lift.matrix.numel())
