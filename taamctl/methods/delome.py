"""DeLoMe: replay of synthetic rows condensed by gradient matching, with a debiased loss."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.contract.replay_buffer import per_class
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import condense, loop
from taamctl.models.backbones import HIDDEN
from taamctl.models.net_input import NetInput
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class Params:
    """DeLoMe's own parameters."""

    profile: str = param(
        "release: gradients of the negative log-likelihood function on raw logits, as in the "
        "public code; text: of the cross-entropy",
        choices=("release", "text"),
    )
    budget: int = param("synthetic rows per class, b", ge=1)
    tau: float = param("strength of the logit adjustment, tau", ge=0)
    iterations: int = param("random nets that gradients are matched on", ge=1)
    condense_lr: float = param("Adam's learning rate for the synthetic rows", gt=0)
    labels: str = param(
        "class_id: a synthetic row has the class of the nodes it stands for; first_appearance: the "
        "public code's mix-up, labels in the order in which classes first appear among the nodes",
        choices=("class_id", "first_appearance"),
    )


class Method(ReplayMethod):
    """Sum over {current} and {old tasks} of mean CE on z + tau log pi, pi_c the share of class c's
    rows; no class weights.

    Rows start as raw X of random nodes of the class and are fed to the net without edges; the real
    gradients use exact cached H in place of sampled neighbours. Source: Niu et al. (2024). Its code
    orders classes by first appearance in one place and by id in another, which swaps the memory's
    labels of a task whenever its first node is of the second class.
    """

    facts = Facts(
        title="DeLoMe",
        family="replay",
        source="Niu, Pang and Chen (2024)",
        needs=("x",),
        memory="synthetic rows, b per class",
    )
    params: Params

    def steps(self, stage: int) -> int:
        """Return condensing iterations and epochs."""
        return self.epochs + self.params.iterations

    def select(self, data: TaskData) -> Tensors:
        """Condense the task, before training on it."""
        generator = torch_generator(self.seed, "condense", data.task.index)
        found = per_class(data.y, self.params.budget, data.task.classes)
        classes = [c for c, _, _ in found]
        drawn = [condense.start_rows(rows, count, generator) for _, rows, count in found]
        made = [
            group_graph.raw_rows(data.extras, rows, self.info.num_features).to(self.device)
            for rows in drawn
        ]
        condense.match_gradients(
            [data.h[rows] for _, rows, _ in found],
            made,
            classes,
            num_classes=self.info.num_classes,
            hidden=HIDDEN,
            kind={"release": "raw_nll", "text": "ce"}[self.params.profile],
            iterations=self.params.iterations,
            lr=self.params.condense_lr,
            generator=generator,
            progress=self.progress,
        )
        counts = torch.tensor([len(rows) for rows in made])
        y = torch.tensor(self._labels(data, classes)).repeat_interleave(counts).to(self.device)
        return {"x": torch.cat(made), "y": y}

    def _labels(self, data: TaskData, classes: list[int]) -> list[int]:
        if self.params.labels == "class_id":
            return classes
        first = {c: int((data.y == c).nonzero()[0]) for c in classes}
        return sorted(classes, key=first.__getitem__)

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the sum of the groups' adjusted cross-entropies."""
        old = self.memory[:-1]
        labels = torch.cat([data.y, *(m["y"] for m in old)])
        counts = torch.bincount(labels, minlength=self.seen)[: self.seen].float()
        shift = self.params.tau * (counts / counts.sum()).clamp(min=1e-12).log()

        def group(x: torch.Tensor | NetInput, y: torch.Tensor) -> torch.Tensor:
            return functional.cross_entropy(self.net.logits(x, self.seen) + shift, y)

        current = NetInput.of(data.h)
        replayed = [(NetInput.of(m["x"]), m["y"]) for m in old]

        def objective(rows: loop.Rows) -> torch.Tensor:
            new = group(current[rows], data.y[rows])
            return sum((group(x, y) for x, y in replayed), new)

        return objective, len(data.y)
