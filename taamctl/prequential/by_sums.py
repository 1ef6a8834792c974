"""The closed form in a replay: exact sums per class, to which every shown node is added once."""

from __future__ import annotations

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array
from taamctl.learning.contract.method import State
from taamctl.learning.kernels import ridge
from taamctl.learning.kernels.class_sums import ClassSums, views_of
from taamctl.learning.kernels.class_sums import Rows as Exact
from taamctl.params.train_params import RidgeParams
from taamctl.prequential.follower import Labelled, News
from taamctl.prequential.known_graph import Rows


class BySums:
    """Ridge regression over all classes seen, solved anew after every snapshot from whole-number
    sums, so that a node counts the same whenever it comes.

    Its row is the one that it had when its label was shown: edges that come later change how a node
    is answered, not what was learned. Where rows are to be as they lie `now`, those of all shown
    nodes are exchanged for what they are with these edges. That is exact, as the sums are of whole
    numbers, and takes the old nodes' features and edges.
    """

    def __init__(self, params: RidgeParams, num_features: int, seed: int, *, now: bool) -> None:
        self.params = params
        self._now = now
        self._lift = ridge.Lift.draw(num_features, params, seed)
        self._sums = ClassSums.empty(0, params.profile_width(num_features))
        self._weight = torch.zeros(0, 0)

    @property
    def hops(self) -> frozenset[int]:
        """Return the hops of a profile."""
        return frozenset(self.params.hops)

    @property
    def renews(self) -> bool:
        """Tell whether old rows are exchanged."""
        return self._now

    def learn(self, news: News) -> None:
        """Add the fresh nodes, or begin again with all nodes as they lie now; and solve."""
        if self._now:
            self._sums = ClassSums.empty(0, self._sums.cross.shape[1])
            self._add(news.so_far(), news.seen)
        else:
            self._add(news.fresh, news.seen)
        self._solve()

    def _add(self, known: Labelled, seen: int) -> None:
        """Add nodes of `seen` classes to the sums."""
        sums = self._sums
        new = ClassSums.empty(seen - len(sums.nodes), sums.cross.shape[1])
        wider = ClassSums(
            np.concatenate([sums.gram, new.gram]),
            np.concatenate([sums.cross, new.cross]),
            np.concatenate([sums.nodes, new.nodes]),
        )
        hops = {j: known.rows.hops[j] for j in self.params.hops}
        none = Exact(hops, np.zeros(0, np.int64))
        self._sums = wider.swapped(none, Exact(hops, known.y), self._lift, self.params)

    def _solve(self) -> None:
        views = len(views_of(self.params))
        self._weight, _ = ridge.solve(self._sums.of_task(views), self.params)

    def scores(self, rows: Rows) -> torch.Tensor:
        """Return the regression's outputs, [n, seen]."""
        found = [
            self._lift.profile(
                {j: rows.hops[j][low : low + ridge.ROWS] for j in self.params.hops},
                self.params.hops,
            )
            @ self._weight
            for low in range(0, max(len(rows), 1), ridge.ROWS)
        ]
        return torch.cat(found)

    def answer(self, rows: Rows) -> tuple[Array, Array]:
        """Return the classes with the largest outputs, and these."""
        sure, label = self.scores(rows).max(1)
        return label.numpy(), sure.numpy()

    def state(self) -> dict[str, Array]:
        """Return the sums."""
        return {"gram": self._sums.gram, "cross": self._sums.cross, "nodes": self._sums.nodes}

    def load(self, state: State) -> None:
        """Install the sums, and solve."""
        self._sums = ClassSums(state["gram"], state["cross"], state["nodes"])
        self._solve()
