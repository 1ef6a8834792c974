"""One trained method under every query unit, router and protocol: which task every node is
given, and what is predicted then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.contract.method import Method
from taamctl.learning.kernels import ridge
from taamctl.learning.routing import query_units, routers
from taamctl.params.train_params import InferParams, LensParams
from taamctl.propagation import group_graph

HARD = "hard"  # the expert of one task
SOFT = "soft"  # the best of several
SMOOTHED = "smoothed"  # the expert of one task, after averaging over neighbours
ROWS = 1 << 16  # nodes whose lifted profiles are in memory at once


@dataclass(frozen=True)
class QuerySet:
    """The query graphs of one protocol and part.

    Attributes:
        protocol: `grouped` (a graph per task) or `mixed` (one graph).
        part: val or test.
        queries: with raw features and edges.
        y, task: [N] true classes and tasks, the queries' nodes one after the other; for scoring
            only.
    """

    protocol: str
    part: str
    queries: tuple[QueryGraph, ...]
    y: Array
    task: Array


@dataclass(frozen=True)
class Routing:
    """The task that every node is given.

    Attributes:
        choice: [N] int64.
        posterior: [N, T] log probabilities for soft routing; None elsewhere.
    """

    router: str
    unit: query_units.Unit
    mode: str
    choice: Array
    posterior: Array | None = None


class Routers:
    """All routers of one data set and seed, learned from the training parts one task at a time.

    Args:
        tasks: returns the training part of a task, with raw features and edges.
        prototypes: [T, D] AMP profiles of the training parts.
    """

    def __init__(
        self,
        tasks: Sequence[Callable[[], TaskData]],
        prototypes: Array,
        info: StreamInfo,
        infer: InferParams,
        lens: LensParams,
        seed: int,
    ) -> None:
        self.info = info
        self.prototypes = prototypes
        self.infer = infer
        self.lens = lens
        self.lift = ridge.Lift.draw(info.num_features, lens.router, seed)
        sums = reduce(ridge.Sums.joined, (self._sums(load()) for load in tasks))
        self.linear = routers.linear_scores(sums, lens.router, lens.temperature)

    def _sums(self, data: TaskData) -> ridge.Sums:
        hops = group_graph.hop_rows(data.h, data.extras, self.lens.router.hops, self.info.hops)
        classes = len(data.task.classes)
        return ridge.collect(hops, data.y - data.task.low, classes, self.lift, self.lens.router)

    def route(self, query_set: QuerySet) -> list[Routing]:
        """Return the decisions of every router for every unit, and of the ridge router per node
        in the other modes.
        """
        every = query_units.all_units(self.lens.batches)
        choices: dict[tuple[str, query_units.Unit], list[Array]] = {}
        posteriors = []
        smoothed = []
        for at, query in enumerate(query_set.queries):
            edges = group_graph.adjacency(query.extras)
            amp, scores = self._describe(query)
            for unit in every:
                of_node = query_units.assign(unit, edges, self.lens.batch_seed + at)
                mean = query_units.means(amp, of_node)
                picked = {"amp": routers.nearest_prototype(mean, self.prototypes)}
                picked |= {n: query_units.means(s, of_node).argmax(1) for n, s in scores.items()}
                for name, choice in picked.items():
                    choices.setdefault((name, unit), []).append(choice[of_node])
            posteriors.append(scores["ridge"])
            smoothed.append(routers.smoothed(scores["ridge"], edges))
        posterior = np.concatenate(posteriors)
        return [
            *(Routing(name, u, HARD, np.concatenate(c)) for (name, u), c in choices.items()),
            Routing("ridge", every[-1], SOFT, posterior.argmax(1), posterior),
            Routing("ridge", every[-1], SMOOTHED, np.concatenate(smoothed).argmax(1)),
        ]

    def _describe(self, query: QueryGraph) -> tuple[Array, dict[str, Array]]:
        """Return every node's AMP profile [N, D] and, per linear router, its log posterior over
        tasks [N, T].
        """
        wanted = {*range(max(self.infer.hops) + 1), *self.lens.router.hops}
        hops = group_graph.hop_rows(query.h, query.extras, wanted, self.info.hops)
        blocks = [self._posteriors(hops, low) for low in range(0, max(1, len(query.h)), ROWS)]
        posterior = {name: np.concatenate([b[name] for b in blocks]) for name in self.linear}
        return routers.amp_profiles(hops, self.infer), posterior

    def _posteriors(self, hops: dict[int, torch.Tensor], low: int) -> dict[str, Array]:
        """Return the log posteriors of a block of nodes, whose lifted profiles are many times as
        wide as their features.
        """
        block = {j: x[low : low + ROWS] for j, x in hops.items()}
        phi = self.lift.profile(block, self.lens.router.hops)
        return {
            name: routers.task_log_posterior(phi @ w + b, self.info.bounds).double().numpy()
            for name, (w, b) in self.linear.items()
        }


def answer(
    method: Method, query_set: QuerySet, routings: Sequence[Routing], top: int
) -> list[Array]:
    """Return the predicted classes [N] int64 for every routing, in the method's own scope; a node
    is predicted once per task it may have.

    Args:
        routings: of `Routers.route`, or one that gives the tasks.
    """
    queries = query_set.queries
    chosen = np.stack([r.choice for r in routings])
    labels = {
        int(k): _labels(method, queries, int(k), np.flatnonzero((chosen == k).any(0)))
        for k in np.unique(chosen)
    }
    out = []
    for r in routings:
        if r.posterior is None:
            predicted = np.full(len(r.choice), -1, np.int64)
            for k in np.unique(r.choice):
                mine = r.choice == k
                predicted[mine] = labels[int(k)][mine]
        else:
            experts = {
                k: (rows, _log_probabilities(method, queries, k, rows))
                for k, rows in routers.top_tasks(r.posterior, top).items()
            }
            predicted = routers.soft_choice(r.posterior, experts, method.info.bounds)
        out.append(predicted)
    return out


def _labels(method: Method, queries: Sequence[QueryGraph], k: int, rows: Array) -> Array:
    """Return the classes that task `k` gives to `rows`, scattered into [N] int64; -1 elsewhere."""
    out = np.full(sum(len(q.h) for q in queries), -1, np.int64)
    for query, inside, at in _pieces(method, queries, rows):
        out[at] = method.predict(query, k).labels[method.scope].cpu().numpy()[inside]
    return out


def _log_probabilities(method: Method, queries: Sequence[QueryGraph], k: int, rows: Array) -> Array:
    """Return log p(class | task k) of `rows`, [n, classes of k]."""
    low, high = method.info.bounds[k]
    with torch.no_grad():
        pieces = [
            torch.log_softmax(method.logits(query, k)[:, low:high], 1).cpu().numpy()[inside]
            for query, inside, _ in _pieces(method, queries, rows)
        ]
    return np.concatenate(pieces)


def _pieces(
    method: Method, queries: Sequence[QueryGraph], rows: Array
) -> list[tuple[QueryGraph, slice | Array, Array]]:
    """Cut rows by query graph: what to predict, which of its rows count, and where they go.

    A method that needs edges predicts a query graph as a whole. To others it is all the same which
    graph a row is of: they predict the rows of all graphs at once.
    """
    out: list[tuple[QueryGraph, slice | Array, Array]] = []
    start = 0
    for query in queries:
        mine = rows[(rows >= start) & (rows < start + len(query.h))]
        if len(mine):
            out.append((query, mine - start, mine))
        start += len(query.h)
    if method.facts.query_needs or not out:
        return out
    h = torch.cat([query.h[local] for query, local, _ in out])
    deg = torch.cat([query.deg[local] for query, local, _ in out])
    return [(QueryGraph(h, deg), slice(None), np.concatenate([mine for *_, mine in out]))]
