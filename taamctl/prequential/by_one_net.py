"""Methods with one net over all classes in a replay: trained on what is new, or on everything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array, QueryGraph, Task
from taamctl.learning.contract.method import Method, State
from taamctl.prequential.follower import News, below, learned, task_data
from taamctl.prequential.known_graph import Rows


class ByOneNet:
    """A stage of the method is a snapshot. A method that sees the current data only goes on with
    the fresh nodes, old classes' among them; one that sees all is trained on every node whose
    label was ever shown, as it lies in the graph now.
    """

    def __init__(self, make: Callable[[], Method], hop: int) -> None:
        self._make, self._hop = make, hop
        self._model = make()
        self._stages = 0

    @property
    def hops(self) -> frozenset[int]:
        """Return the hop of H."""
        return frozenset((self._hop,))

    @property
    def renews(self) -> bool:
        """Tell that only shown labels are learned."""
        return False

    def learn(self, news: News) -> None:
        """Train on the fresh nodes, or on all."""
        known = news.fresh
        if self._model.facts.sees == "all":
            known = news.so_far()
        learned(self._model, task_data(Task(news.snapshot, 0, news.seen), known, self._hop))
        self._stages = news.snapshot + 1
        self.load(self.state())  # what goes on is what would be read back

    def answer(self, rows: Rows) -> tuple[Array, Array]:
        """Return the likeliest classes and their probabilities."""
        with torch.no_grad():
            logits = self._model.logits(QueryGraph(rows.hops[self._hop], rows.deg), -1)
            sure, label = torch.softmax(logits, 1).max(1)
        return label.cpu().numpy(), sure.cpu().numpy()

    def state(self) -> dict[str, Array]:
        """Return the net, what its training needs to go on, and how many snapshots it saw."""
        net = {f"net/{name}": x for name, x in self._model.state().items()}
        more = {f"training/{name}": x for name, x in self._model.training_state().items()}
        return {**net, **more, "stages": np.array([self._stages])}

    def load(self, state: State) -> None:
        """Install them in a new object."""
        self._stages = int(state["stages"][0])
        self._model = self._make()
        states = [below(state, "net")] * self._stages
        self._model.load(self._model.shared(), states, below(state, "training"))
