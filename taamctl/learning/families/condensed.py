"""What CaT and PUMA share: a net that is trained on condensed rows only, never on the current
task's nodes themselves.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod

import numpy as np
import torch
from torch.nn import functional

from taamctl.core.seeding import numpy_generator, torch_generator
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract import replay_buffer
from taamctl.learning.contract.method import Stored
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import condense, loop
from taamctl.propagation import differentiable


class CondensedMethod(ReplayMethod):
    """Condense a task by distribution matching, then train on all condensed rows.

    `params` needs budget, encoders and epochs.
    """

    include_current = True

    @abstractmethod
    def condense(
        self, real: list[torch.Tensor], made: list[torch.Tensor], generator: np.random.Generator
    ) -> None:
        """Move the condensed rows, in place.

        Args:
            real, made: per class, [N_c, F] rows of H and [m_c, F] condensed rows.
        """

    @property
    def epochs(self) -> int:
        """Return the passes over the memory."""
        return int(self.params.epochs)

    def steps(self, stage: int) -> int:
        """Return encoders and epochs."""
        return self.epochs + int(self.params.encoders)

    def select(self, data: TaskData) -> Tensors:
        """Condense the task."""
        generator = torch_generator(self.seed, "condense", data.task.index)
        found = replay_buffer.per_class(data.y, len(data.y), data.task.classes)
        quota = replay_buffer.proportionally(
            [len(rows) for _, rows, _ in found], self.params.budget * len(data.task.classes)
        )
        made = [
            condense.start_rows(
                rows,
                m,
                generator,
                lambda r: differentiable.raw_rows(data.extras, r, self.info.num_features),
            ).to(self.device)
            for (_, rows, _), m in zip(found, quota, strict=True)
        ]
        self.condense(
            [data.h[rows] for _, rows, _ in found],
            made,
            numpy_generator(self.seed, "encoders", data.task.index),
        )
        y = torch.cat(
            [
                torch.full((m,), c, device=self.device)
                for (c, _, _), m in zip(found, quota, strict=True)
            ]
        )
        return {"x": torch.cat(made), "y": y}

    def begin(self, data: TaskData) -> None:
        """Condense, then train as long as the method says."""
        super().begin(data)
        self.train = dataclasses.replace(self.train, epochs=self.epochs)

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the plain cross-entropy over the memory."""
        x, y = self.replayed()

        def objective(rows: torch.Tensor | None) -> torch.Tensor:
            xb, yb = (x, y) if rows is None else (x[rows], y[rows])
            return functional.cross_entropy(self.net.logits(xb, self.seen), yb)

        return objective, len(y)

    def stored(self, class_sizes: Array) -> Stored:
        """Return the budgets of all tasks: b rows per class on average, at most as many as there
        are nodes.
        """
        rows = 0
        for low, high in self.info.bounds:
            sizes = [int(n) for n in class_sizes[low:high] if n]
            rows += (
                sum(replay_buffer.proportionally(sizes, self.params.budget * (high - low)))
                if sizes
                else 0
            )
        return Stored(rows=rows, net=self.net_words)
