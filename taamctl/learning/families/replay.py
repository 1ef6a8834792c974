"""What replay methods share: rows kept of earlier tasks, per class, trained on together with the
current task.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from taamctl.core.late_torch import torch
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Stored, below
from taamctl.learning.contract.replay_buffer import PREFIX
from taamctl.learning.families.sequential import SequentialMethod, Tensors
from taamctl.learning.kernels import loop


class Budgeted(Protocol):
    """Parameters with a memory's size."""

    @property
    def budget(self) -> int:
        """Return the rows per class."""


class ReplayMethod(SequentialMethod):
    """A memory of rows that stand for earlier tasks; `select` says which.

    The loss is one class-balanced cross-entropy over the current rows and the memory, weights
    counted over both.

    Attributes:
        include_current: whether the loss also replays what was just taken from the current task.
        memory: per task, the rows kept of it.
    """

    params: Budgeted
    include_current = False

    def setup(self) -> None:
        """Begin with an empty memory."""
        super().setup()
        self.memory: list[Tensors] = []

    @abstractmethod
    def select(self, data: TaskData) -> Tensors:
        """Return what is kept of a task: `x` [B, F] rows that can be fed to the net, `y` [B]
        their class ids.
        """

    def begin(self, data: TaskData) -> None:
        """Fill the memory, before training on the task."""
        self.memory.append(self.select(data))

    def replayed_memory(self) -> list[Tensors]:
        """Return, per task that is replayed in this stage, what is kept of it."""
        return self.memory if self.include_current else self.memory[:-1]

    def replayed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows and labels that are replayed in this stage."""
        kept = self.replayed_memory()
        none = torch.zeros((0, self.info.num_features), device=self.device)
        x = torch.cat([none, *(m["x"] for m in kept)])
        y = torch.cat([none.new_zeros(0, dtype=torch.int64), *(m["y"] for m in kept)])
        return x, y

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the cross-entropy over current and replayed rows together."""
        x, y = self.replayed()
        labels = torch.cat([data.y, y])
        return self.cross_entropy(torch.cat([data.h, x]), labels), len(labels)

    def kept(self) -> Tensors:
        """Return the rows of the current task that are kept."""
        return {f"{PREFIX}{name}": t for name, t in self.memory[-1].items()}

    def restore(self, states: Sequence[Tensors]) -> None:
        """Install the rows kept of all tasks so far."""
        self.memory = [below(PREFIX, state) for state in states]

    def stored(self, class_sizes: Array) -> Stored:
        """Return min(budget, N_c) rows per class."""
        return Stored(rows=int(class_sizes.clip(max=self.params.budget).sum()), net=self.net_words)
