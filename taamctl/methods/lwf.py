"""LwF: learning without forgetting, by distilling the previous model's outputs on the current
task's nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.families.sequential import SequentialMethod
from taamctl.learning.kernels import loop
from taamctl.models.backbones import HIDDEN, TrainableNet
from taamctl.models.initialise import kaiming_normal
from taamctl.models.net_input import NetInput


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

    facts = Facts(title="LwF", family="regularisation", source="Li and Hoiem (2016); CGLB (2022)")
    params: Params

    def draw(self) -> TrainableNet:
        """Draw the net as `init` says."""
        info = self.info
        if self.params.init == "default":
            return TrainableNet.draw(info.num_features, info.num_classes, self.seed, self.device)
        generator = torch_generator(self.seed, "net")
        w1 = kaiming_normal(HIDDEN, info.num_features, generator)
        w2 = kaiming_normal(info.num_classes, HIDDEN, generator)
        return TrainableNet(*(w.to(self.device).requires_grad_() for w in (w1, w2)))

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return cross-entropy plus distillation; before the first epoch the net still is the
        teacher.
        """
        old = data.task.low
        tau = self.params.temperature
        if not old:
            return self.cross_entropy(data.h, data.y), len(data.y)
        new = self.cross_entropy_of_logits(data.y)
        inputs = NetInput.of(data.h)
        with torch.no_grad():
            targets = torch.softmax(self.net.logits(inputs, old) / tau, dim=1)

        def objective(rows: loop.Rows) -> torch.Tensor:
            logits = self.net.logits(inputs[rows], self.seen)
            distilled = functional.cross_entropy(logits[:, :old] / tau, targets[rows])
            return new(logits, rows) + self.params.strength * distilled

        return objective, len(data.y)

    def stored(self, class_sizes: object) -> Stored:
        """Return the teacher, which the papers do not count."""
        return Stored(uncounted=self.net_words, net=self.net_words)
