"""What CaT and PUMA share: a net that is trained on condensed rows only, never on the current
task's nodes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import numpy_generator, torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Stored
from taamctl.learning.contract.replay_buffer import per_class, proportionally
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import condense, loop
from taamctl.models.net_input import NetInput
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class CondensedParams:
    """What both methods set."""

    budget: int = param(
        "condensed rows per class on average; shared among a task's classes in proportion to their "
        "sizes",
        ge=1,
    )
    encoders: int = param("random encoders that class means are matched under", ge=1)
    width: int = param("rows of an encoder", ge=1)
    condense_lr: float = param("Adam's learning rate for the condensed rows", gt=0)
    epochs: int = param("passes over the memory per task; replaces train.epochs", ge=1)


class CondensedMethod(ReplayMethod):
    """Condense a task by distribution matching, then train on all condensed rows.

    Attributes:
        fresh_adam: whether Adam starts anew with every encoder.
    """

    params: CondensedParams
    include_current = True
    fresh_adam: ClassVar[bool] = False

    @property
    def updates(self) -> int:
        """Return the updates of the condensed rows per encoder."""
        return 1

    @property
    def epochs(self) -> int:
        """Return the passes over the memory."""
        return self.params.epochs

    def steps(self, stage: int) -> int:
        """Return encoders and epochs."""
        return self.epochs + self.params.encoders

    def select(self, data: TaskData) -> Tensors:
        """Condense the task: match class means under random encoders."""
        k = data.task.index
        generator = torch_generator(self.seed, "condense", k)
        found = per_class(data.y, len(data.y), data.task.classes)
        quota = proportionally(
            [len(rows) for _, rows, _ in found], self.params.budget * len(data.task.classes)
        )
        drawn = [
            condense.start_rows(rows, m, generator)
            for (_, rows, _), m in zip(found, quota, strict=True)
        ]
        made = [
            group_graph.raw_rows(data.extras, rows, self.info.num_features).to(self.device)
            for rows in drawn
        ]
        condense.match_means(
            [data.h[rows] for _, rows, _ in found],
            made,
            width=self.params.width,
            encoders=self.params.encoders,
            updates=self.updates,
            lr=self.params.condense_lr,
            fresh_adam=self.fresh_adam,
            generator=numpy_generator(self.seed, "encoders", k),
            progress=self.progress,
        )
        return {"x": torch.cat(made), "y": data.y[torch.cat(drawn)]}

    def begin(self, data: TaskData) -> None:
        """Condense, then train as long as the method says."""
        super().begin(data)
        self.train = replace(self.train, epochs=self.epochs)

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the plain cross-entropy over the memory."""
        x, y = self.replayed()
        inputs = NetInput.of(x)

        def objective(rows: loop.Rows) -> torch.Tensor:
            return functional.cross_entropy(self.net.logits(inputs[rows], self.seen), y[rows])

        return objective, len(y)

    def stored(self, class_sizes: Array) -> Stored:
        """Return the budgets of all tasks: b rows per class on average, at most as many as there
        are nodes.
        """
        rows = 0
        for low, high in self.info.bounds:
            sizes = [int(n) for n in class_sizes[low:high] if n]
            if sizes:
                rows += sum(proportionally(sizes, self.params.budget * (high - low)))
        return Stored(rows=rows, net=self.net_words)
