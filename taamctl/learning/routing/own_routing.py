"""The routing that a run used after its last task, for the nodes of any graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from taamctl.core.routings import LINEAR
from taamctl.core.types import Array, QueryGraph
from taamctl.learning.routing import node_profiles, query_units, task_id
from taamctl.learning.routing.linear_routing import LinearRouters
from taamctl.learning.routing.routing_choice import NEEDS, Asked, Features
from taamctl.learning.routing.routing_lens import HARD, QuerySet, Routing
from taamctl.params.train_params import LensParams
from taamctl.propagation import group_graph

LABEL = "run: "  # before the name of the routing


class OwnRouting:
    """The routing of a run after its last task.

    Args:
        routing: such as `amp/cosine` or `gaussian`.
        features: with raw features and edges.
        asked: what the run asked for.
    """

    def __init__(self, routing: str, features: Features, asked: Asked) -> None:
        self.routing = routing
        self._asked = asked
        self._info = features.info
        self._last = features.info.num_tasks - 1
        if routing in LINEAR:
            loads = [partial(features.task, k, NEEDS) for k in range(features.info.num_tasks)]
            self._solved = LinearRouters(loads, features.info, asked.linear, [self._last])
            return
        profile, self._metric = routing.split("/")
        self._infer = replace(asked.infer, profile=profile, metric=self._metric)
        self._prototypes = task_id.profiles(features.means("train"), self._infer)

    def scores(self, query: QueryGraph, group: int) -> Array:
        """Return every node's score of every task, [N, T]; the largest mean over a unit's nodes
        decides for the unit.

        Args:
            query: with raw features and edges. group: its number among all (task, part).
        """
        if self.routing in LINEAR:
            return self._solved.values(query)[self.routing, self._last]
        made = self._asked.precompute
        nodes = node_profiles.nodes_of(query.extras, self._info.num_features, group, made)
        products = node_profiles.products(nodes, self._prototypes, self._infer, made.ls_hops)
        return node_profiles.scores(products, self._prototypes, self._metric)


def routings(
    own: OwnRouting,
    query_set: QuerySet,
    groups: Sequence[int],
    decided: Array,
    lens: LensParams,
) -> list[Routing]:
    """Return the run's own decisions for every unit; the first is what the run decided.

    Args:
        groups: number of every query graph. decided: [T] the task that the run inferred for every
            task's query graph; its own decisions stand where a query graph holds one task.
    """
    scores = [own.scores(q, g) for q, g in zip(query_set.queries, groups, strict=True)]
    edges = [group_graph.adjacency(query.extras) for query in query_set.queries]
    found = []
    for unit in query_units.all_units(lens.batches):
        choices = []
        for at, values in enumerate(scores):
            of_node = query_units.assign(unit, edges[at], lens.batch_seed + at)
            choices.append(query_units.means(values, of_node).argmax(1)[of_node])
        choice = np.concatenate(choices)
        if unit.kind == "graph" and query_set.protocol == "grouped":
            choice = decided[query_set.task]
        found.append(Routing(LABEL + own.routing, unit, HARD, choice))
    return found
