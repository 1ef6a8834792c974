"""What the strong upper references share: nets over raw features and edges, trained on graphs as
thin as those that they are asked about.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.families.jointly import FromScratch, JointParams, Logits, N
from taamctl.learning.kernels import loop
from taamctl.learning.kernels.grace import drop_edges
from taamctl.learning.kernels.running_mean import RunningMean
from taamctl.models.dropout import Dropout
from taamctl.propagation import group_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

R = TypeVar("R")
STEPS = 10  # that read the same edges: to draw them costs as much as several steps


@dataclass(frozen=True)
class StrongParams(JointParams):
    """What is dropped in training, and how fast it goes."""

    drop_edge: float = param(
        f"share of the edges left out of training, others every {STEPS} steps", ge=0, lt=1
    )
    drop_feature: float = param("share of the feature columns dropped in every step", ge=0, lt=1)
    dropout: float = param("share of the hidden entries dropped in every step", ge=0, lt=1)
    mean_over: int = param("the weights are their running mean over about so many steps", ge=1)
    lr: float = param("Adam's, instead of train.lr", gt=0)
    weight_decay: float = param("L2 inside Adam, instead of train.weight_decay", ge=0)


class StrongReference(FromScratch[N], Generic[N, R]):
    """The loss of Joint; edges, feature columns and hidden entries are dropped in training.

    The training part of a task has the edges inside it alone. So edges between tasks are seen in
    queries and never in training. A method says what it reads of a graph, and what its net makes
    of that.
    """

    params: StrongParams

    def setup(self) -> None:
        """Take the method's own pace, and draw the net of a stream without a task."""
        p = self.params
        self.train = replace(self.train, lr=p.lr, weight_decay=p.weight_decay)
        super().setup()

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a new net on all tasks and keep the mean of its weights."""
        history = super().learn(tasks, progress)
        self._average.install()
        return history

    def after_steps(self) -> Callable[[], None]:
        """Return what takes the weights into their mean."""
        self._average = RunningMean(self.net.parameters(), self.params.mean_over)
        return self._average.add

    @abstractmethod
    def read(self, x: torch.Tensor, edges: csr_matrix) -> R:
        """Return what the net reads of a graph.

        Args:
            x: [N, F] float32, raw, on the CPU. edges: [N, N] with self-loops.
        """

    @abstractmethod
    def answers(self, read: R, rows: loop.Rows, drop: Dropout) -> torch.Tensor:
        """Return the logits [B, seen] of some rows of a graph."""

    def training_logits(self, tasks: Sequence[TaskData]) -> Logits:
        """Return rows -> logits [B, seen] of what is left after dropping, other things every
        time.
        """
        import scipy.sparse as sp

        p, stage = self.params, tasks[-1].task.index
        drop = Dropout(p.dropout, p.drop_feature, torch_generator(self.seed, "dropout", stage))
        generator = torch_generator(self.seed, "edges", stage)
        x = torch.cat([self._raw(t) for t in tasks])
        edges = sp.block_diag([group_graph.adjacency(t.extras) for t in tasks], format="csr")
        drawn: list[R] = []
        step = 0

        def logits(rows: loop.Rows) -> torch.Tensor:
            nonlocal step
            if step % STEPS == 0:
                drawn.clear()  # two at once would be the most memory of all
                drawn.append(self.read(x, drop_edges(edges, p.drop_edge, generator)))
            step += 1
            return self.answers(drawn[0], rows, drop)

        return logits

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen, from all features and edges."""
        nothing = Dropout(0, 0, torch.Generator())
        read = self.read(self._raw(query), group_graph.adjacency(query.extras))
        return self.answers(read, loop.ALL, nothing)

    def _raw(self, group: TaskData | QueryGraph) -> torch.Tensor:
        rows = torch.arange(len(group.h))
        return group_graph.raw_rows(group.extras, rows, self.info.num_features)
