"""What the baselines share: one trainable net and one Adam that go through the stream task by
task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Method, State, Stored, to_arrays, to_tensors
from taamctl.learning.kernels import loop, loss
from taamctl.models.backbones import Net, TrainableNet
from taamctl.models.net_input import NetInput

Tensors: TypeAlias = "dict[str, torch.Tensor]"


class SequentialMethod(Method):
    """Class-balanced cross-entropy over all classes seen, on the current task's nodes; a method
    overrides what it does more.

    The order of calls in a stage is `begin`, then an epoch after the other of what `objective`
    returned, then `end`. Everything that a later stage needs goes through `kept` and `restore`.
    """

    seen = 0
    progress = SILENT

    def setup(self) -> None:
        """Draw the net and its optimiser."""
        self.net = self.draw()
        self.optimiser = loop.adam(self.net.parameters(), self.train)

    def draw(self) -> Net:
        """Draw the net that the stream starts with."""
        return TrainableNet.draw(
            self.info.num_features, self.info.num_classes, self.seed, self.device
        )

    def begin(self, data: TaskData) -> None:
        """Prepare a stage, before its first epoch: fill a memory, keep a teacher."""

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the loss and the number of rows that it goes over."""
        return self.cross_entropy(data.h, data.y), len(data.y)

    def adjust(self, data: TaskData) -> Callable[[], None] | None:
        """Return what changes the gradients before every step, or None."""
        return None

    def end(self, data: TaskData) -> None:
        """Finish a stage, after its last epoch: measure importances."""

    def kept(self) -> Tensors:
        """Return what the stage keeps beside the net."""
        return {}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install what `kept` returned at every stage so far."""

    def cross_entropy(self, h: torch.Tensor, y: torch.Tensor) -> loop.Loss:
        """Return the class-balanced cross-entropy over the classes seen, weights counted once
        over all rows of `y`.
        """
        of_logits = self.cross_entropy_of_logits(y)
        inputs = NetInput.of(h)
        return lambda rows: of_logits(self.net.logits(inputs[rows], self.seen), rows)

    def cross_entropy_of_logits(
        self, y: torch.Tensor
    ) -> Callable[[torch.Tensor, loop.Rows], torch.Tensor]:
        """Return the same loss as a function of the logits of a batch, [B, seen]."""
        weights = loss.node_weights(y, self.info.num_classes, self.train.balance)
        return lambda logits, rows: loss.weighted_cross_entropy(logits, y[rows], weights[rows])

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train on the current task."""
        data = tasks[-1]
        data = replace(
            data, h=data.h.to(self.device), y=data.y.to(self.device), deg=data.deg.to(self.device)
        )
        self.seen = data.task.high
        self.progress = progress
        self.begin(data)
        objective, rows = self.objective(data)
        history = loop.fit(
            self.optimiser,
            objective,
            rows,
            train=self.train,
            seed=self.seed,
            task=data.task.index,
            progress=progress,
            adjust=self.adjust(data),
        )
        self.end(data)
        return history

    def state(self) -> dict[str, Array]:
        """Return the whole net (a later stage overwrites it) and what the method keeps beside
        it.
        """
        net = {f"net/{i}": p for i, p in enumerate(self.net.parameters())}
        return to_arrays({**net, **self.kept()})

    def training_state(self) -> dict[str, Array]:
        """Return Adam's moments, which carry over between tasks."""
        return loop.optimiser_state(self.optimiser)

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the net of the last stage, what the method keeps, and the optimiser where
        training goes on.
        """
        tensors = [to_tensors(s, self.device) for s in states]
        with torch.no_grad():
            for i, p in enumerate(self.net.parameters()):
                p.copy_(tensors[-1][f"net/{i}"])
        self.seen = self.info.bounds[len(states) - 1][1]
        self.restore(tensors)
        if training is not None:
            loop.restore_optimiser(self.optimiser, dict(training))

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen; the task ID is not used."""
        return self.net.logits(query.h.to(self.device), self.seen)

    @property
    def net_words(self) -> int:
        """Return the words of the net."""
        return sum(p.numel() for p in self.net.parameters())

    def stored(self, class_sizes: Array) -> Stored:
        """Return nothing: the net is all there is."""
        return Stored(net=self.net_words)
