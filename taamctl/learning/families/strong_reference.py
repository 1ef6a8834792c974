"""What the strong upper references share: nets over raw features and edges, held back from
learning their training nodes by heart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.families.jointly import FromScratch, JointParams, N
from taamctl.learning.kernels.running_mean import RunningMean
from taamctl.models.dropout import Dropout


@dataclass(frozen=True)
class StrongParams(JointParams):
    """What is dropped in training, and what is averaged."""

    dropout: float = param("share of the hidden entries dropped in every step", ge=0, lt=1)
    drop_feature: float = param("share of the feature columns dropped in every step", ge=0, lt=1)
    mean_over: int = param("the weights are their running mean over about so many steps", ge=1)


class StrongReference(FromScratch[N]):
    """The loss of Joint, with dropout of hidden entries and feature columns, and the running mean
    of the weights.

    The training part of a task has the edges inside it alone. So edges between tasks are seen in
    queries and never in training: the ceiling is that of this contract.
    """

    params: StrongParams

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a new net on all tasks and keep the mean of its weights."""
        history = super().learn(tasks, progress)
        self._average.install()
        return history

    def before_steps(self) -> Callable[[], None]:
        """Return what takes the weights into their mean."""
        self._average = RunningMean(self.net.parameters(), self.params.mean_over)
        return self._average.add

    def dropout(self, stage: int) -> Dropout:
        """Return the draws of a stage."""
        generator = torch_generator(self.seed, "dropout", stage)
        return Dropout(self.params.dropout, self.params.drop_feature, generator)
