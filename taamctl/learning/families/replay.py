"""What replay methods share: rows kept of earlier tasks, per class, trained on together with the
current task.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from taamctl.core.types import Array, StreamInfo, TaskData
from taamctl.learning.contract.method import Stored
from taamctl.learning.families.sequential import SequentialMethod, Tensors
from taamctl.learning.kernels import loop
from taamctl.params.train_params import TrainParams


class ReplayMethod(SequentialMethod):
    """A memory of rows that stand for earlier tasks; `select` says which.

    `params` needs the field `budget` (rows per class).

    The loss is one class-balanced cross-entropy over the current rows and the memory, weights
    counted over both.
    """

    include_current = (
        False  # whether the loss also replays what was just taken from the current task
    )

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self.memory: list[Tensors] = []

    @abstractmethod
    def select(self, data: TaskData) -> Tensors:
        """Return what is kept of a task: `x` [B, F] rows that can be fed to the net, `y` [B]
        their class ids.
        """

    def begin(self, data: TaskData) -> None:
        """Fill the memory, before training on the task."""
        self.memory.append(self.select(data))

    def replayed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows and labels that are replayed in this stage."""
        kept = self.memory if self.include_current else self.memory[:-1]
        if not kept:
            return torch.zeros((0, self.info.num_features), device=self.device), torch.zeros(
                0, dtype=torch.int64, device=self.device
            )
        return torch.cat([m["x"] for m in kept]), torch.cat([m["y"] for m in kept])

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the cross-entropy over current and replayed rows together."""
        x, y = self.replayed()
        h, labels = torch.cat([data.h, x]), torch.cat([data.y, y])
        return self.cross_entropy(h, labels), len(labels)

    def kept(self) -> Tensors:
        """Return the rows of the current task that are kept."""
        return {f"memory/{name}": t for name, t in self.memory[-1].items()}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install the rows kept of all tasks so far."""
        self.memory = [
            {name.removeprefix("memory/"): t for name, t in s.items() if name.startswith("memory/")}
            for s in states
        ]

    def stored(self, class_sizes: Array) -> Stored:
        """Return min(budget, N_c) rows per class."""
        return Stored(rows=int(class_sizes.clip(max=self.params.budget).sum()), net=self.net_words)
