"""The protocol lens: query units, routers and protocols for trained methods, in one pass over
cached features -> lens.json.

Everything is at the end of the stream. Under the grouped protocol every query graph holds one
task's nodes; under the mixed one all tasks' nodes of a part are one induced graph, edges between
tasks kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.json_kinds import LENS
from taamctl.core.late_torch import torch
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.types import CSR, Array, QueryGraph
from taamctl.core.types import PARTS as ALL_PARTS
from taamctl.evaluation import confusion, cost, matrix, node_sampling
from taamctl.evaluation.record import number, numbers
from taamctl.features import group_features as features
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.learning.contract.method import Method
from taamctl.learning.routing import own_routing, query_units, routing_lens, task_id
from taamctl.learning.routing.linear_routing import RouterSettings
from taamctl.learning.routing.routing_choice import Asked
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.recorded_params import recorded
from taamctl.params.train_params import InferParams, LensParams
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.stages.infer import trained_again
from taamctl.store import artefacts, atomic_files
from taamctl.store.feature_store import FeatureStore
from taamctl.store.infer_kind import INFER
from taamctl.store.split_kind import SPLIT
from taamctl.store.train_kind import TRAIN

NEEDS = ("x", "edges")
PARTS = ("val", "test")


@dataclass
class LensInputs:
    """What the methods of one data set share: query graphs, and the routers' decisions of every
    seed; each made when first asked for.
    """

    context: Context
    dataset: str
    routed: dict[int, list[list[routing_lens.Routing]]] = field(default_factory=dict)

    def input_of(self, stage: str) -> tuple[Path, str]:
        """Return a stage's artefact and the command that makes it."""
        layout = self.context.layout
        return layout.file(stage, self.dataset), layout.command(stage, self.dataset)

    @cached_property
    def query_sets(self) -> list[routing_lens.QuerySet]:
        """Return both protocols of both parts."""
        path, made_by = self.input_of("precompute")
        with FeatureStore(path, made_by) as store:
            store.require(NEEDS)
            params = recorded(
                PrecomputeParams, {**store.params, "feature_norm": "none"}, path, made_by
            )
            edges = _mixed_edges(*self.input_of("split"))
            found = []
            for part in PARTS:
                queries = [store.query(k, part, NEEDS) for k in range(store.info.num_tasks)]
                labels = store.labels(part)
                y = np.concatenate(labels)
                task = np.repeat(np.arange(len(labels)), [len(y) for y in labels])
                mixed = _mixed_query(queries, edges[part], store.info.num_features, params)
                found.append(routing_lens.QuerySet("grouped", part, tuple(queries), y, task))
                found.append(routing_lens.QuerySet("mixed", part, (mixed,), y, task))
        return found

    def routings(self, seed: int) -> list[list[routing_lens.Routing]]:
        """Return the decisions of a seed's routers, per query set."""
        if seed not in self.routed:
            params = self.context.params
            # Of the row `amp`; what the run itself routes by is a row of its own.
            infer = replace(params.section(InferParams), profile="amp", metric="cosine")
            with FeatureStore(*self.input_of("precompute")) as store:
                routers = routing_lens.Routers(
                    [partial(store.task, k, NEEDS) for k in range(store.info.num_tasks)],
                    task_id.profiles(store.means("train"), infer),
                    store.info,
                    infer,
                    params.section(LensParams),
                    seed,
                )
            self.routed[seed] = [routers.route(query_set) for query_set in self.query_sets]
        return self.routed[seed]


def run(shared: LensInputs, method: str, seed: int) -> Outcome:
    """Look at one trained method; reuse what is already right."""
    context = shared.context
    params = context.params.section(LensParams)
    job = stage_jobs.lens(context, Which(shared.dataset, method, seed))
    _, cached, trained, inferred = job.inputs

    def compute() -> None:
        facts, settings, learner = _trained(method, *trained, cached)
        stored = facts["stored"]
        cells = []
        own: list[list[routing_lens.Routing]] = [[] for _ in shared.query_sets]
        if learner.facts.task_id == "inferred":
            own = _own(shared, learner, inferred, cached)
        for at, query_set in enumerate(shared.query_sets):
            routings = [*own[at], *_wanted(learner, query_set, shared, seed, at)]
            cells += _cells(learner, query_set, routings, params)
        atomic_files.write_json(
            job.outputs[0],
            {
                **LENS.stamp,
                "dataset": shared.dataset,
                "method": method,
                "seed": seed,
                "title": facts["title"],
                "profile": facts["variant"],
                "scope": facts["scope"],
                "task_id": facts["task_id"],
                "memory_words": cost.paper(
                    stored["parameters"], stored["rows"], learner.info.num_features
                ),
                "averaging": "balanced",
                "settings": {**settings, "lens": canonical(params)},
                "cells": cells,
            },
        )

    return execute(context, job, compute)


def _trained(
    method: str, path: Path, made_by: str, cached: tuple[Path, str]
) -> tuple[dict[str, Any], dict[str, object], Method]:
    """Return what a training run records of its method, its settings, and the method as it was."""
    with artefacts.Artefact(path, TRAIN, made_by) as trained, FeatureStore(*cached) as store:
        learner, _ = trained_again(method, store, trained, made_by)
        facts = json.loads(trained.attribute("facts"))
        return facts, {"precompute": store.params, "train": trained.params}, learner


def _own(
    shared: LensInputs, method: Method, inferred: tuple[Path, str], cached: tuple[Path, str]
) -> list[list[routing_lens.Routing]]:
    """Return the routing that the run itself used, per query set: what it decided, and how it would
    decide for other units.
    """
    lens = shared.context.params.section(LensParams)
    with artefacts.Artefact(inferred[0], INFER, inferred[1]) as made:
        routed = "/".join(json.loads(made.attribute("facts"))["routed"])
        infer = recorded(InferParams, infer_section(made.params), *inferred)
        decided = {part: made.read(f"{part}/decision")[-1] for part in PARTS}
    with FeatureStore(*cached) as store:
        precompute = recorded(PrecomputeParams, {**store.params, "feature_norm": "none"}, *cached)
        linear = RouterSettings(lens.router, lens.temperature)
        asked = Asked(infer, method.facts.routing, linear, precompute)
        own = own_routing.OwnRouting(routed, store, asked)
        t = store.info.num_tasks
    found = []
    for query_set in shared.query_sets:
        groups = [0]
        if query_set.protocol == "grouped":
            groups = [k * len(ALL_PARTS) + ALL_PARTS.index(query_set.part) for k in range(t)]
        found.append(own_routing.routings(own, query_set, groups, decided[query_set.part], lens))
    return found


def infer_section(params: Mapping[str, Plain]) -> dict[str, Plain]:
    """Return what an `infer` artefact records of the `infer` section."""
    return {name: value for name, value in params.items() if name != "linear"}


def _wanted(
    method: Method, query_set: routing_lens.QuerySet, shared: LensInputs, seed: int, at: int
) -> list[routing_lens.Routing]:
    """Return the routings that make a difference to a method: all of them, the true tasks, or
    none.
    """
    fixed = {"given": query_set.task, "none": np.full(len(query_set.y), method.info.num_tasks - 1)}
    kind = method.facts.task_id
    if kind in fixed:
        return [
            routing_lens.Routing(kind, query_units.Unit("node"), routing_lens.HARD, fixed[kind])
        ]
    return shared.routings(seed)[at]


def _cells(
    method: Method,
    query_set: routing_lens.QuerySet,
    routings: list[routing_lens.Routing],
    params: LensParams,
) -> list[dict[str, object]]:
    bounds = np.array(method.info.bounds)
    answers = routing_lens.answer(method, query_set, routings, params.top)
    out = []
    for routing, predicted in zip(routings, answers, strict=True):
        balanced, micro = matrix.average_over_tasks(query_set.y, query_set.task, predicted, bounds)
        accuracy = None
        if routing.router not in ("none", "given"):
            accuracy = float((routing.choice == query_set.task).mean())
        out.append(
            {
                "protocol": query_set.protocol,
                "part": query_set.part,
                "router": routing.router,
                "unit": routing.unit.kind,
                "size": routing.unit.size,
                "mode": routing.mode,
                "aa": balanced,
                "aa_micro": micro,
                "task_id_accuracy": accuracy,
                **_by_class(query_set, routing, predicted, bounds),
            }
        )
    return out


def _by_class(
    query_set: routing_lens.QuerySet, routing: routing_lens.Routing, predicted: Array, bounds: Array
) -> dict[str, object]:
    """Return what becomes of every class where all tasks' nodes are in one graph and each is
    decided on alone; nothing elsewhere.
    """
    if (query_set.protocol, routing.unit.kind) != ("mixed", "node"):
        return {}
    recall = matrix.class_recall(query_set.y, predicted, int(bounds[-1][1]))
    low, high = node_sampling.aa_interval(query_set.y, predicted, bounds, "balanced")
    return {
        "aa_low": number(low),
        "aa_high": number(high),
        "class_recall": numbers(recall),
        "confused": confusion.confused(query_set.y, predicted),
    }


def _mixed_edges(path: Path, made_by: str) -> dict[str, CSR]:
    """Return the edges among all tasks' nodes of a part, numbered as the concatenated parts are."""
    with artefacts.Artefact(path, SPLIT, made_by) as split:
        indptr = split.read("mixed/indptr")
        indices = split.read("mixed/indices")
        offset = split.read("stream/offset")
    whole = to_scipy(CSR(indptr, indices, None, (len(indptr) - 1,) * 2))
    part_of_row = np.repeat(np.arange(len(offset) - 1) % 3, np.diff(offset))
    found = {}
    for p, part in enumerate(PARTS, 1):
        mine = np.flatnonzero(part_of_row == p)
        found[part] = from_scipy(whole[mine][:, mine], binary=True)
    return found


def _mixed_query(
    queries: list[QueryGraph], edges: CSR, num_features: int, params: PrecomputeParams
) -> QueryGraph:
    """Return the query graph that holds the nodes of all `queries`, propagated over its own
    edges.
    """
    lengths = np.concatenate([np.diff(q.extras["x_indptr"]) for q in queries])
    x: dict[str, Array] = {"x_indptr": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)}
    for name in ("x_indices", "x_data"):
        x[name] = np.concatenate([q.extras[name] for q in queries])
    n = len(lengths)
    raw = CSR(x["x_indptr"], x["x_indices"], x["x_data"], (n, num_features))
    whole = features.compute_all(raw, np.arange(n), np.array([0, n]), edges, params, "none")
    group = whole[0].stored(params)
    return QueryGraph(
        torch.from_numpy(group["H"]),
        torch.from_numpy(group["deg"].astype(np.float32)),
        {**x, "indptr": group["indptr"], "indices": group["indices"]},
    )
