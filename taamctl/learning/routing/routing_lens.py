"""One trained method under every query unit, router and protocol: which task every node is
given, and what is predicted then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Method
from taamctl.learning.kernels import ridge
from taamctl.learning.routing import query_units, routers
from taamctl.params.train_params import InferParams, LensParams
from taamctl.propagation import differentiable

HARD, SOFT, SMOOTHED = (
    "hard",
    "soft",
    "smoothed",
)  # the expert of one task; the best of several; after averaging over neighbours


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
        stored: k of H = S^k X.
    """

    def __init__(
        self,
        tasks: Sequence[Callable[[], TaskData]],
        prototypes: Array,
        bounds: routers.Bounds,
        num_features: int,
        stored: int,
        infer: InferParams,
        lens: LensParams,
        seed: int,
    ) -> None:
        self.bounds, self.prototypes, self.stored, self.infer, self.lens = (
            bounds,
            prototypes,
            stored,
            infer,
            lens,
        )
        self.lift = ridge.Lift.draw(num_features, lens.router, seed)
        sums = None
        for load in tasks:
            data = load()
            hops = differentiable.hop_rows(data.h, data.extras, lens.router.hops, stored)
            low, high = data.task.low, data.task.high
            mine = ridge.collect(hops, data.y - low, high - low, self.lift, lens.router)
            sums = mine if sums is None else sums.joined(mine)
        assert sums is not None
        self.linear = routers.linear_scores(sums, lens.router, lens.temperature)

    def route(self, scene: QuerySet) -> list[Routing]:
        """Return the decisions of every router for every unit, and of the ridge router per node
        in the other modes.
        """
        every = query_units.all_units(self.lens.batches)
        choices: dict[tuple[str, query_units.Unit], list[Array]] = {}
        posteriors, smooth = [], []
        for at, query in enumerate(scene.queries):
            edges = differentiable.adjacency(query.extras)
            amp, scores = self._describe(query)
            of_node = {u: query_units.assign(u, edges, self.lens.batch_seed + at) for u in every}
            for u, unit in of_node.items():
                picked = {
                    "amp": routers.nearest_prototype(query_units.means(amp, unit), self.prototypes),
                    **{name: query_units.means(s, unit).argmax(1) for name, s in scores.items()},
                }
                for name, choice in picked.items():
                    choices.setdefault((name, u), []).append(choice[unit])
            posteriors.append(scores["ridge"])
            smooth.append(routers.smoothed(scores["ridge"], edges))
        made = [
            Routing(name, u, HARD, np.concatenate(parts)) for (name, u), parts in choices.items()
        ]
        posterior, averaged = np.concatenate(posteriors), np.concatenate(smooth)
        return [
            *made,
            Routing("ridge", every[-1], SOFT, posterior.argmax(1), posterior),
            Routing("ridge", every[-1], SMOOTHED, averaged.argmax(1)),
        ]

    def _describe(self, query: QueryGraph) -> tuple[Array, dict[str, Array]]:
        """Return every node's AMP profile [N, D] and, per linear router, its log posterior over
        tasks [N, T].
        """
        hops = differentiable.hop_rows(
            query.h,
            query.extras,
            {*range(max(self.infer.hops) + 1), *self.lens.router.hops},
            self.stored,
        )
        phi = self.lift.profile(hops, self.lens.router.hops)
        posterior = {
            name: routers.task_log_posterior(phi @ w + b, self.bounds).double().numpy()
            for name, (w, b) in self.linear.items()
        }
        return routers.amp_profiles(hops, self.infer), posterior


def answer(method: Method, scene: QuerySet, routings: Sequence[Routing], top: int) -> list[Array]:
    """Return the predicted classes [N] int64 for every routing, in the method's own scope; a node
    is asked once per task it may have.

    Args:
        routings: of `Routers.route`, or one that gives the tasks.
    """
    tops = {id(r): routers.top_tasks(r.posterior, top) for r in routings if r.posterior is not None}
    pairs: dict[int, set[int]] = {}
    for r in routings:
        for k in np.unique(r.choice):
            pairs.setdefault(int(k), set()).update(np.flatnonzero(r.choice == k).tolist())
    labels = {
        k: _ask(method, scene.queries, k, np.array(sorted(rows), np.int64))
        for k, rows in pairs.items()
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
                k: (rows, _log_probabilities(method, scene.queries, k, rows))
                for k, rows in tops[id(r)].items()
            }
            predicted = routers.soft_choice(r.posterior, experts, method.info.bounds)
        out.append(predicted)
    return out


def _ask(method: Method, queries: Sequence[QueryGraph], k: int, rows: Array) -> Array:
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
    """Cut rows by query graph: what to ask, which of its answers count, and where they go.

    A method that needs edges is asked whole.
    """
    out: list[tuple[QueryGraph, slice | Array, Array]] = []
    start = 0
    for query in queries:
        mine = rows[(rows >= start) & (rows < start + len(query.h))]
        if len(mine):
            local = torch.from_numpy(mine - start)
            needs = method.facts.query_needs
            out.append(
                (query, local.numpy(), mine)
                if needs
                else (QueryGraph(query.h[local], query.deg[local]), slice(None), mine)
            )
        start += len(query.h)
    return out
