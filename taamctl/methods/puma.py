"""PUMA: CaT with wide encoders, few of them, and a net that is retrained from scratch at every
stage. Without its leak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.condensed import CondensedMethod, CondensedParams
from taamctl.learning.kernels import loop
from taamctl.models.backbones import Mlp


@dataclass(frozen=True)
class Params(CondensedParams):
    """PUMA's own parameters."""

    updates: int = param(
        "updates of the condensed rows per encoder, each time with a new Adam", ge=1
    )
    net_width: int = param("hidden width of the net", ge=1)
    net_depth: int = param("layers of the net", ge=2)
    lr: float = param("Adam's learning rate for the net; replaces train.lr", gt=0)


class Method(CondensedMethod):
    """Plain CE over the classes seen, by a new MLP at every stage, on the condensed rows of all
    tasks so far. Class means are matched under few wide encoders, several updates each.

    The published method first labels nodes of the test mask with its own predictions and adds them
    to the class means; that uses test nodes for training and is left out, and here every training
    node has a label. Source: Liu et al. (2025).
    """

    facts = Facts(
        title="PUMA",
        family="replay",
        source="Liu et al. (2025), without pseudo-labels of test nodes",
        needs=("x",),
        memory="condensed rows, b per class on average",
    )
    params: Params

    fresh_adam = True

    @property
    def updates(self) -> int:
        """Return the updates of the condensed rows per encoder."""
        return self.params.updates

    def draw(self, stage: int = 0) -> Mlp:
        """Draw the net of a stage."""
        hidden = [self.params.net_width] * (self.params.net_depth - 1)
        sizes = [self.info.num_features, *hidden, self.info.num_classes]
        return Mlp.draw(sizes, torch_generator(self.seed, "net", stage), self.device)

    def begin(self, data: TaskData) -> None:
        """Condense, then start the net anew."""
        super().begin(data)
        self.train = replace(self.train, lr=self.params.lr)
        self.net = self.draw(data.task.index)
        self.optimiser = loop.adam(self.net.parameters(), self.train)

    def training_state(self) -> dict[str, Array]:
        """Return nothing: the next stage starts the net anew."""
        return {}
