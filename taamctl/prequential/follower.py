"""What every method does in a replay: answer nodes, and learn those whose labels are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, Task, TaskData
from taamctl.learning.contract.method import Method, State
from taamctl.prequential.known_graph import Rows


@dataclass(frozen=True)
class Labelled:
    """Nodes whose labels are known: rows, and [n] int64 classes in the order of arrival."""

    rows: Rows
    y: Array

    def of_classes(self, low: int, high: int) -> Labelled:
        """Return the nodes of the classes [low, high)."""
        at = np.flatnonzero((self.y >= low) & (self.y < high))
        return Labelled(self.rows.some(at), self.y[at])


@dataclass(frozen=True)
class News:
    """What is shown when a snapshot has been predicted.

    Attributes:
        snapshot: which. seen: how many classes are known now.
        task: of its new classes, the last ones of those seen; None where there are none.
        fresh: the nodes that arrived in this snapshot and whose labels are shown.
        so_far: returns all nodes whose labels have been shown, these among them, as they lie in the
            graph now.
    """

    snapshot: int
    seen: int
    task: Task | None
    fresh: Labelled
    so_far: Callable[[], Labelled]


class Follower(Protocol):
    """A method that follows a stream."""

    @property
    def hops(self) -> frozenset[int]:
        """Return the hops of the rows that it looks at."""

    @property
    def renews(self) -> bool:
        """Tell whether it learns in snapshots that show no label too, as rows are others then."""

    def learn(self, news: News) -> None:
        """Learn what a snapshot brought."""

    def answer(self, rows: Rows) -> tuple[Array, Array]:
        """Return [n] int64 classes among those seen, and [n] float32 how sure it is; what is less
        sure is likelier to be of an unknown class.
        """

    def state(self) -> dict[str, Array]:
        """Return all that `load` needs to go on."""

    def load(self, state: State) -> None:
        """Install what `state` returned."""


def task_data(task: Task, known: Labelled, hop: int) -> TaskData:
    """Return labelled nodes as a method learns them.

    Args:
        hop: k of H = S^k X.
    """
    import torch

    return TaskData(task, known.rows.hops[hop], torch.from_numpy(known.y), known.rows.deg)


def learned(method: Method, data: TaskData) -> None:
    """Train a method.

    Raises:
        TaamctlError: the loss left the finite numbers.
    """
    losses = method.learn([data])
    if not np.isfinite(losses).all():
        raise TaamctlError(
            f"training diverged: a loss of task {data.task.index + 1} is not finite",
            "lower train.lr, or look for extreme values in the features",
        )


def below(state: State, folder: str) -> dict[str, Array]:
    """Return what a state has below a folder, without its name."""
    start = f"{folder}/"
    return {name[len(start) :]: x for name, x in state.items() if name.startswith(start)}
