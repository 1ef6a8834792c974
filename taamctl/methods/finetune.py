"""Finetuning ("bare"): keep training one net on the current task alone. The lower reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning import loop, loss
from taamctl.learning.method import Facts, State, Stored, to_arrays, to_tensors
from taamctl.learning.method import Method as Base
from taamctl.learning.params import TrainParams
from taamctl.models.backbones import TrainableNet

Params = None


class Method(Base):
    """Class-balanced cross-entropy over all classes seen, on the current task's nodes; one Adam for the whole stream.

    Source: the "bare" baseline of the CGLB benchmark (2022).
    """

    facts: ClassVar[Facts] = Facts(title="Finetuning", family="lower reference", source="CGLB (2022)", sees="current", task_id="none")

    def __init__(self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device) -> None:
        super().__init__(params, info, train, seed, device)
        self._net = TrainableNet.draw(info.num_features, info.num_classes, seed, device)
        self._optimiser = loop.adam(self._net.parameters(), train)
        self._seen = 0

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train on the current task."""
        data = tasks[-1]
        self._seen = data.task.high
        h, y = data.h.to(self.device), data.y.to(self.device)
        weights = loss.node_weights(y, self.info.num_classes, self.train.balance)

        def objective(rows: torch.Tensor | None) -> torch.Tensor:
            hb, yb, wb = (h, y, weights) if rows is None else (h[rows], y[rows], weights[rows])
            return loss.weighted_cross_entropy(self._net.logits(hb, self._seen), yb, wb)

        return loop.fit(self._optimiser, objective, len(y), self.train, torch_generator(self.seed, "batches", data.task.index),
                        progress, self.device)

    def state(self) -> dict[str, Array]:
        """Return the whole net: a later stage overwrites it."""
        return to_arrays({"w1": self._net.w1, "w2": self._net.w2})

    def training_state(self) -> dict[str, Array]:
        """Return Adam's moments, which carry over between tasks."""
        return loop.optimiser_state(self._optimiser)

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the net of the last stage, and the optimiser where training goes on."""
        tensors = to_tensors(states[-1], self.device)
        with torch.no_grad():
            self._net.w1.copy_(tensors["w1"])
            self._net.w2.copy_(tensors["w2"])
        self._seen = self.info.bounds[len(states) - 1][1]
        if training is not None:
            loop.restore_optimiser(self._optimiser, dict(training))

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen; the task ID is not used."""
        return self._net.logits(query.h.to(self.device), self._seen)

    def stored(self, class_sizes: Array) -> Stored:
        """Return nothing: finetuning keeps nothing beside the net."""
        return Stored()
