"""What the upper references share: a net trained from scratch on the training parts of all tasks
so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.contract.method import Method, State, Stored, to_arrays, to_tensors
from taamctl.learning.kernels import loop
from taamctl.models.backbones import TrainableNet
from taamctl.params.train_params import TrainParams


@dataclass(frozen=True)
class JointParams:
    """Which stages are trained."""

    stages: str = param(
        "last: only the final model (AA needs no other); all: one model per stage (curves, BWT)",
        choices=("last", "all"),
    )


class JointMethod(Method):
    """Sum over tasks of that task's class-balanced mean cross-entropy; new weights and a new Adam
    at every stage.

    The public code keeps Adam's moments over the reset; here they start anew (methods that share a
    net with their reset cannot be called re-initialised). `own_range` restricts each node's
    cross-entropy to its task's classes.
    """

    own_range = False
    params: JointParams

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self._net = TrainableNet.draw(info.num_features, info.num_classes, seed, device)
        self._seen = 0

    def trains(self, stage: int) -> bool:
        """Tell whether the stage is trained."""
        return self.params.stages == "all" or stage == self.info.num_tasks - 1

    @property
    def independent(self) -> bool:
        """Every stage starts anew, so stages are independent."""
        return True

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a new net on all tasks."""
        stage = tasks[-1].task.index
        self._seen = tasks[-1].task.high
        self._net = TrainableNet.draw(
            self.info.num_features, self.info.num_classes, self.seed, self.device, stage=stage
        )
        h = torch.cat([t.h for t in tasks]).to(self.device)
        y = torch.cat([t.y for t in tasks]).to(self.device)
        owner = torch.repeat_interleave(
            torch.arange(len(tasks)), torch.tensor([len(t.y) for t in tasks])
        ).to(self.device)
        weights = self._node_weights(y, owner)
        blocked = self._blocked() if self.own_range else None

        def objective(rows: torch.Tensor | None) -> torch.Tensor:
            hb, yb, wb, ob = (
                (h, y, weights, owner)
                if rows is None
                else (h[rows], y[rows], weights[rows], owner[rows])
            )
            logits = self._net.logits(hb, self._seen)
            if blocked is not None:
                logits = logits.masked_fill(blocked[ob, : self._seen], float("-inf"))
            scale = 1.0 if rows is None else len(y) / len(rows)
            return (
                scale * (torch.nn.functional.cross_entropy(logits, yb, reduction="none") * wb).sum()
            )

        optimiser = loop.adam(self._net.parameters(), self.train)
        return loop.fit(
            optimiser,
            objective,
            len(y),
            self.train,
            torch_generator(self.seed, "batches", stage),
            progress,
            self.device,
        )

    def _node_weights(self, y: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
        """Return [N] weights whose sum over each task is 1, equal shares per class where
        `balance` is on.
        """
        each = torch.ones(len(y), device=y.device)
        if self.train.balance:
            each = 1.0 / torch.bincount(y, minlength=self.info.num_classes)[y].float()
        return (
            each
            / torch.zeros(int(owner.max()) + 1, device=y.device).index_add_(0, owner, each)[owner]
        )

    def _blocked(self) -> torch.Tensor:
        """Return [T, C]: True where a class is outside the task's range."""
        blocked = torch.ones(
            (self.info.num_tasks, self.info.num_classes), dtype=torch.bool, device=self.device
        )
        for k, (low, high) in enumerate(self.info.bounds):
            blocked[k, low:high] = False
        return blocked

    def state(self) -> dict[str, Array]:
        """Return the stage's net."""
        return to_arrays({"w1": self._net.w1, "w2": self._net.w2})

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the net of the last stage; an untrained stage leaves nothing to install."""
        self._seen = self.info.bounds[len(states) - 1][1]
        if states[-1]:
            tensors = to_tensors(states[-1], self.device)
            self._net = TrainableNet(tensors["w1"], tensors["w2"])

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen."""
        return self._net.logits(query.h.to(self.device), self._seen)

    def stored(self, class_sizes: Array) -> Stored:
        """Return all training rows."""
        return Stored(
            rows=int(class_sizes.sum()), net=sum(p.numel() for p in self._net.parameters())
        )
