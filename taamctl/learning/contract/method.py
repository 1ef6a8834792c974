"""The contract of a continual method.

Adding a file to `taamctl/methods/` that fulfils it is enough to be run and tested.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array, Prediction, QueryGraph, StreamInfo, TaskData
from taamctl.params.train_params import TrainParams

State = Mapping[str, Array]


@dataclass(frozen=True)
class Facts:
    """What a method declares about itself; the contract tests hold it to this.

    Attributes:
        title: the name in tables.
        family: modulation, probe, lower reference, upper reference, ...
        source: author, year, what it follows.
        sees: `current` (a task's own training part) or `all` (the training parts of every task so
            far).
        task_id: `inferred` from prototypes, `given` at test, or `none` (predictions use none).
        needs: extra cached arrays of the training part beyond H, y and degrees: `x`, `edges`.
        query_needs: the same of the query graphs.
        routing: profile and metric that the method was published with, for `infer.profile` and
            `infer.metric` `as_published`.
        memory: what is kept of earlier data, in words; `none` where nothing is.
    """

    title: str
    family: str
    source: str
    sees: str = "current"
    task_id: str = "none"
    needs: tuple[str, ...] = ()
    query_needs: tuple[str, ...] = ()
    routing: tuple[str, str] = ("amp", "cosine")
    memory: str = "none"


@dataclass(frozen=True)
class Stored:
    """What a method keeps at the end of the stream, in float32-sized words: its declared budget,
    and the cost accounting.

    Attributes:
        parameters: words that the papers count as parameters.
        rows: stored data rows (F features and a label each).
        uncounted: words that papers leave out (importances, teachers), prototypes not included.
        net: words of the backbone or net itself, which no accounting counts.
    """

    parameters: int = 0
    rows: int = 0
    uncounted: int = 0
    net: int = 0


class Method(ABC):
    """One continual method. `learn` is called once per stage, in task order unless `independent` is
    true.

    Every stage has a new object, which knows of earlier stages only what `load` gives it: what
    `state` and `training_state` returned. Rows of earlier data are state arrays below `memory/`,
    and are held to the budget that `stored` declares.

    Attributes:
        facts: declared facts.
        work: what an epoch and an answer consist of, for `taamctl plan`: `net` (a two-layer net),
            `modulated` (one product with a frozen backbone), `probe` or `ridge`.
        params: the method's section of params.yaml, as its file's `Params` dataclass, which a
            method names as the type; None where that is None.
    """

    facts: ClassVar[Facts]
    work: ClassVar[str] = "net"
    params: object

    def __init__(
        self, params: object, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        self.params = params
        self.info = info
        self.train = train
        self.seed = seed
        self.device = device
        self.setup()

    def setup(self) -> None:  # noqa: B027
        """Draw what the stream starts with; called once, when the object is made."""

    @property
    def independent(self) -> bool:
        """Tell whether no state depends on another task: tasks may be learned in any order."""
        return False

    @property
    def cumulative(self) -> bool:
        """Tell whether later tasks change no logit: those of a stage are the first columns of
        the last stage's, under the same task.
        """
        return False

    @property
    def scope(self) -> str:
        """Return the logit scope that the method's headline number uses."""
        return "all_seen"

    @property
    def variant(self) -> str:
        """Return the reading of the method, for tables: its parameter `profile`, or nothing."""
        return getattr(self.params, "profile", "")

    @property
    def epochs(self) -> int:
        """Return the epochs of one stage, the width of its loss history."""
        return self.train.epochs

    def steps(self, stage: int) -> int:
        """Return how many steps of progress a stage reports."""
        return self.epochs

    def trains(self, stage: int) -> bool:
        """Tell whether there is a model for this stage."""
        return True

    @abstractmethod
    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Learn the last of `tasks` and return the loss of every epoch as [epochs] float32.

        Args:
            tasks: the current task alone, or all tasks so far where `facts.sees` is `all`.
        """

    def shared(self) -> dict[str, Array]:
        """Return arrays that all tasks share (a frozen backbone)."""
        return {}

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return all that `load` needs of the stage just learned beyond earlier stages' states."""

    def training_state(self) -> dict[str, Array]:
        """Return what a resumed run needs beyond the states, such as optimiser moments."""
        return {}

    @abstractmethod
    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the model as it was after stage len(states) - 1."""

    @abstractmethod
    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return logits over all classes seen so far, [N, seen], as task `task_id` gives them."""

    @abstractmethod
    def stored(self, class_sizes: Array) -> Stored:
        """Return what the method keeps at the end of the stream.

        Args:
            class_sizes: [C] training nodes per class.
        """

    def predict(self, query: QueryGraph, task_id: int) -> Prediction:
        """Predict a query graph for every logit scope, under the inferred (or given) task."""
        with torch.no_grad():
            return self.scopes(self.logits(query, task_id), task_id)

    def scopes(self, logits: torch.Tensor, task_id: int) -> Prediction:
        """Return the classes that logits [N, seen] predict in every logit scope."""
        low, high = self.info.bounds[task_id]
        return Prediction(
            {
                "all_seen": logits.argmax(1),
                "up_to_task": logits[:, :high].argmax(1),
                "task_only": logits[:, low:high].argmax(1) + low,
            }
        )


def to_arrays(tensors: Mapping[str, torch.Tensor]) -> dict[str, Array]:
    """Return tensors as NumPy arrays that own their memory."""
    return {name: np.array(t.detach().cpu().numpy()) for name, t in tensors.items()}


def to_tensors(arrays: State, device: torch.device) -> dict[str, torch.Tensor]:
    """Return arrays as tensors on `device`."""
    return {name: torch.from_numpy(np.array(a)).to(device) for name, a in arrays.items()}


def below(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return what a state has below `prefix`, without it."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
