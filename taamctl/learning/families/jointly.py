"""What the upper references share: a net trained from scratch on the training parts of all tasks
so far.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from taamctl.core.late_torch import functional, torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Method, State, Stored, to_arrays, to_tensors
from taamctl.learning.kernels import loop
from taamctl.models.backbones import Trainable, TrainableNet
from taamctl.models.net_input import NetInput

N = TypeVar("N", bound=Trainable)
Logits: TypeAlias = "Callable[[loop.Rows], torch.Tensor]"


@dataclass(frozen=True)
class JointParams:
    """Which stages are trained."""

    stages: str = param(
        "last: only the final model (AA needs no other); all: one model per stage (curves, BWT)",
        choices=("last", "all"),
    )

    def net_width(self, features: int) -> int:
        """Return the inputs of the net's first layer, which decide what an epoch costs."""
        return features


class FromScratch(Method, Generic[N]):
    """Sum over tasks of that task's class-balanced mean cross-entropy; new weights and a new Adam
    at every stage.

    The public code keeps Adam's moments over the reset; here they start anew (methods that share a
    net with their reset cannot be called re-initialised). `own_range` restricts each node's
    cross-entropy to its task's classes. A method says which net is drawn and what it reads.
    """

    params: JointParams
    own_range = False
    independent = True
    seen = 0

    def setup(self) -> None:
        """Draw the net of a stream without a task."""
        self.net = self.draw(-1)

    @abstractmethod
    def draw(self, stage: int) -> N:
        """Draw the net of a stage: a data class of tensors with all C output rows."""

    @abstractmethod
    def training_logits(self, tasks: Sequence[TaskData]) -> Logits:
        """Return rows -> the net's logits [B, seen], rows counted over the nodes of all tasks."""

    def after_steps(self) -> Callable[[], None] | None:
        """Return what is called after every step of a new net, or None."""
        return None

    def trains(self, stage: int) -> bool:
        """Tell whether the stage is trained."""
        return self.params.stages == "all" or stage == self.info.num_tasks - 1

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a new net on all tasks."""
        last = tasks[-1].task
        self.seen = last.high
        self.net = self.draw(last.index)
        y = torch.cat([t.y for t in tasks]).to(self.device)
        sizes = torch.tensor([len(t.y) for t in tasks])
        owner = torch.repeat_interleave(torch.arange(len(tasks)), sizes).to(self.device)
        weights = self._node_weights(y, owner)
        blocked = self._blocked()
        logits_of = self.training_logits(tasks)

        def objective(rows: loop.Rows) -> torch.Tensor:
            logits = logits_of(rows)
            if self.own_range:
                logits = logits.masked_fill(blocked[owner[rows], : self.seen], float("-inf"))
            each = functional.cross_entropy(logits, y[rows], reduction="none")
            return len(y) / len(each) * (each * weights[rows]).sum()

        return loop.fit(
            loop.adam(self.net.parameters(), self.train),
            objective,
            len(y),
            train=self.train,
            seed=self.seed,
            task=last.index,
            progress=progress,
            after=self.after_steps(),
        )

    def _node_weights(self, y: torch.Tensor, owner: torch.Tensor) -> torch.Tensor:
        """Return [N] weights whose sum over each task is 1, equal shares per class where
        `balance` is on.
        """
        each = torch.ones(len(y), device=y.device)
        if self.train.balance:
            each = 1.0 / torch.bincount(y, minlength=self.info.num_classes)[y].float()
        total = torch.zeros(int(owner.max()) + 1, device=y.device).index_add_(0, owner, each)
        return each / total[owner]

    def _blocked(self) -> torch.Tensor:
        """Return [T, C]: True where a class is outside the task's range."""
        classes = torch.arange(self.info.num_classes, device=self.device)
        bounds = torch.tensor(self.info.bounds, device=self.device)
        return (classes < bounds[:, :1]) | (classes >= bounds[:, 1:])

    def state(self) -> dict[str, Array]:
        """Return the stage's net."""
        return to_arrays(vars(self.net))

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the net of the last stage; an untrained stage leaves nothing to install."""
        self.seen = self.info.bounds[len(states) - 1][1]
        for name, tensor in to_tensors(states[-1], self.device).items():
            setattr(self.net, name, tensor)

    def stored(self, class_sizes: Array) -> Stored:
        """Return all training rows."""
        net = sum(p.numel() for p in self.net.parameters())
        return Stored(rows=int(class_sizes.sum()), net=net)


class JointMethod(FromScratch[TrainableNet]):
    """The net that the sequential methods train, over rows of H."""

    def draw(self, stage: int) -> TrainableNet:
        """Draw the net of a stage."""
        return TrainableNet.draw(
            self.info.num_features, self.info.num_classes, self.seed, self.device, stage=stage
        )

    def training_logits(self, tasks: Sequence[TaskData]) -> Logits:
        """Return rows -> the net's logits [B, seen]."""
        inputs = NetInput.of(torch.cat([t.h for t in tasks]).to(self.device))
        return lambda rows: self.net.logits(inputs[rows], self.seen)

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the net's logits over all classes seen."""
        return self.net.logits(query.h.to(self.device), self.seen)
