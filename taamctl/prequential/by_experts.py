"""Methods with a model per task in a replay: the new classes of a snapshot are a task, and the
ridge regression over all classes chooses a node's task.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, QueryGraph, Task
from taamctl.learning.contract.method import Method, State
from taamctl.learning.routing.routers import task_log_posterior
from taamctl.prequential.by_sums import BySums
from taamctl.prequential.follower import Labelled, News, below, learned, task_data
from taamctl.prequential.known_graph import Rows


class ByExperts:
    """A task's own model answers the nodes that the router gives it. The router's sums take every
    shown node. A task's model is learned when its classes are new, and where it is to `retrain`,
    again from all their nodes so far whenever more of them arrive.
    """

    def __init__(
        self,
        make: Callable[[], Method],
        router: BySums,
        temperature: float,
        hop: int,
        retrain: bool,
    ) -> None:
        first = make()
        if not first.independent:
            raise TaamctlError(
                f"the tasks of {first.facts.title} ({first.variant}) depend on each other",
                "a replay needs tasks that are learned alone: choose another --profile",
            )
        self._make, self._router, self._temperature = make, router, temperature
        self._hop, self._retrain = hop, retrain
        self._bounds = first.info.bounds
        self._states: list[State] = []
        self._model = first

    @property
    def hops(self) -> frozenset[int]:
        """Return the hops of the models and of the router."""
        return self._router.hops | {self._hop}

    @property
    def renews(self) -> bool:
        """Tell whether the router's old rows are exchanged."""
        return self._router.renews

    def learn(self, news: News) -> None:
        """Add the fresh nodes to the router, and learn the tasks that they touch."""
        self._router.learn(news)
        touched = [k for k in range(len(self._states)) if self._arrived(k, news.fresh.y)]
        if touched and self._retrain:
            known = news.so_far()
            for k in touched:
                self._states[k] = self._trained(Task(k, *self._bounds[k]), known)
        if news.task is not None:
            self._states.append(self._trained(news.task, news.fresh))
        self._install()

    def _arrived(self, k: int, y: Array) -> bool:
        """Tell whether some of the classes are those of a task."""
        low, high = self._bounds[k]
        return bool(((y >= low) & (y < high)).any())

    def _trained(self, task: Task, known: Labelled) -> State:
        """Return what a new model learns of the nodes of a task."""
        method = self._make()
        learned(method, task_data(task, known.of_classes(task.low, task.high), self._hop))
        return method.state()

    def _install(self) -> None:
        self._model = self._make()
        self._model.load(self._model.shared(), self._states)

    def answer(self, rows: Rows) -> tuple[Array, Array]:
        """Return what the likeliest tasks' models say, and the router's largest outputs."""
        scores = self._router.scores(rows)
        bounds = self._bounds[: len(self._states)]
        task = task_log_posterior(self._temperature * scores, bounds).argmax(1).numpy()
        label = np.zeros(len(rows), np.int64)
        for k in np.unique(task).tolist():
            at = np.flatnonzero(task == k)
            own = rows.some(at)
            query = QueryGraph(own.hops[self._hop], own.deg)
            label[at] = self._model.predict(query, k).labels[self._model.scope].cpu().numpy()
        return label, scores.max(1).values.numpy()

    def state(self) -> dict[str, Array]:
        """Return the router's sums and every task's model."""
        models = {
            f"task-{k}/{name}": x for k, s in enumerate(self._states) for name, x in s.items()
        }
        return {**{f"router/{n}": x for n, x in self._router.state().items()}, **models}

    def load(self, state: State) -> None:
        """Install the router's sums and every task's model."""
        self._router.load(below(state, "router"))
        self._states = []
        while own := below(state, f"task-{len(self._states)}"):
            self._states.append(own)
        self._install()
