"""LwF: learning without forgetting, by distilling the previous model's outputs on the current
task's nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.families.sequential import SequentialMethod
from taamctl.learning.kernels import loop
from taamctl.models import initialise
from taamctl.models.backbones import HIDDEN, TrainableNet


@dataclass(frozen=True)
class Params:
    """LwF's own parameters."""

    strength: float = param("weight of the distillation, lambda", ge=0)
    temperature: float = param("softening of teacher and student, tau", gt=0)
    init: str = param(
        "default: as all nets; kaiming: normal with standard deviation 1/sqrt(fan-in), as CGLB "
        "does for this method only",
        choices=("default", "kaiming"),
    )


class Method(SequentialMethod):
    """CE - lambda mean_v sum_{c < hi_(k-1)} softmax(f_(k-1)(h_v) / tau)_c log softmax(f(h_v) /
    tau)_c.

    The softmax goes over the whole old range as one group; there is no factor tau^2. The teacher's
    targets are computed once per task. Source: Li and Hoiem (2016), as in the CGLB benchmark
    (2022), full-batch path. Two public codes differ: one re-wraps the term so that it has no
    gradient, CGLB's mini-batch path sums over nested ranges.
    """

    facts: ClassVar[Facts] = Facts(
        title="LwF",
        family="regularisation",
        source="Li and Hoiem (2016); CGLB (2022)",
        sees="current",
        task_id="none",
    )
    params: Params

    def draw(self) -> TrainableNet:
        """Draw the net as `init` says."""
        net = TrainableNet.draw(
            self.info.num_features, self.info.num_classes, self.seed, self.device
        )
        if self.params.init == "kaiming":
            generator = torch_generator(self.seed, "net")
            w1 = initialise.kaiming_normal(HIDDEN, self.info.num_features, generator)
            w2 = initialise.kaiming_normal(self.info.num_classes, HIDDEN, generator)
            net = TrainableNet(
                w1.to(self.device).requires_grad_(), w2.to(self.device).requires_grad_()
            )
        return net

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return cross-entropy plus distillation; before the first epoch the net still is the
        teacher.
        """
        new, old, tau = self.cross_entropy(data.h, data.y), data.task.low, self.params.temperature
        if not old:
            return new, len(data.y)
        with torch.no_grad():
            targets = torch.softmax(self.net.logits(data.h, old) / tau, dim=1)

        def objective(rows: torch.Tensor | None) -> torch.Tensor:
            h, soft = (data.h, targets) if rows is None else (data.h[rows], targets[rows])
            distilled = functional.cross_entropy(self.net.logits(h, old) / tau, soft)
            return new(rows) + self.params.strength * distilled

        return objective, len(data.y)

    def stored(self, class_sizes: object) -> Stored:
        """Return the teacher, which the papers do not count."""
        return Stored(uncounted=self.net_words, net=self.net_words)
