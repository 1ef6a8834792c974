"""PUMA: CaT with wide encoders, few of them, and a net that is retrained from scratch at every
stage. Without its leak.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.condensed import CondensedMethod
from taamctl.learning.kernels import condense, loop
from taamctl.models.backbones import Mlp


@dataclass(frozen=True)
class Params:
    """PUMA's own parameters."""

    budget: int = param(
        "condensed rows per class on average; shared among a task's classes in proportion to their "
        "sizes",
        ge=1,
    )
    encoders: int = param("random encoders that class means are matched under", ge=1)
    updates: int = param(
        "updates of the condensed rows per encoder, each time with a new Adam", ge=1
    )
    width: int = param("rows of an encoder", ge=1)
    condense_lr: float = param("Adam's learning rate for the condensed rows", gt=0)
    net_width: int = param("hidden width of the net", ge=1)
    net_depth: int = param("layers of the net", ge=2)
    epochs: int = param("passes over the memory per task; replaces train.epochs", ge=1)
    lr: float = param("Adam's learning rate for the net; replaces train.lr", gt=0)


class Method(CondensedMethod):
    """Plain CE over the classes seen, by a new MLP at every stage, on the condensed rows of all
    tasks so far.

    The published method first labels nodes of the test mask with its own predictions and adds them
    to the class means; that uses test nodes for training and is left out, and here every training
    node has a label. Source: Liu et al. (2025).
    """

    facts: ClassVar[Facts] = Facts(
        title="PUMA",
        family="replay",
        source="Liu et al. (2025), without pseudo-labels of test nodes",
        sees="current",
        task_id="none",
        needs=("x",),
        memory="condensed rows, b per class on average",
    )
    params: Params

    def draw(self, stage: int = 0) -> Mlp:
        """Draw the net of a stage."""
        return Mlp.draw(
            self.info.num_features,
            self.info.num_classes,
            self.params.net_width,
            self.params.net_depth,
            torch_generator(self.seed, "net", stage),
            self.device,
        )

    def condense(
        self, real: list[torch.Tensor], made: list[torch.Tensor], generator: np.random.Generator
    ) -> None:
        """Match class means under few wide encoders, several updates each."""
        p = self.params
        condense.match_means(
            real,
            made,
            p.width,
            p.encoders,
            p.updates,
            p.condense_lr,
            False,
            generator,
            self.progress,
        )

    def begin(self, data: TaskData) -> None:
        """Condense, then start the net anew."""
        super().begin(data)
        self.train = dataclasses.replace(self.train, lr=self.params.lr)
        self.net = self.draw(data.task.index)
        self.optimiser = loop.adam(self.net.parameters(), self.train)

    def training_state(self) -> dict[str, Array]:
        """Return nothing: the next stage starts the net anew."""
        return {}
