"""The protocol lens: query units, routers and protocols for trained methods, in one pass over
cached features -> lens.json.

Everything is at the end of the stream. Under the grouped protocol every query graph holds one
task's nodes; under the mixed one all tasks' nodes of a part are one induced graph, edges between
tasks kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from taamctl.core import registry
from taamctl.core.plain_values import canonical
from taamctl.core.types import CSR, Array, QueryGraph
from taamctl.evaluation import cost, matrix
from taamctl.features import compute as features
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.routing import by_unit, query_units, task_id
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import recorded
from taamctl.params.train_params import InferParams, LensParams, TrainParams
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.store import artefacts, atomic_files, model_store
from taamctl.store.feature_store import FeatureStore

CODE = (
    "core",
    "params",
    "runtime",
    "store",
    "propagation",
    "graph",
    "features",
    "learning",
    "models",
    "evaluation",
    "pipeline/lens_run.py",
)
NEEDS = ("x", "edges")
PARTS = ("val", "test")
FILE = "lens.json"


@dataclass
class Bench:
    """What the methods of one data set share: query graphs, and the routers' decisions of every
    seed; made when first asked for.
    """

    context: Context
    dataset: str
    routed: dict[int, list[list[by_unit.Routing]]] = field(default_factory=dict)

    @cached_property
    def scenes(self) -> list[by_unit.Scene]:
        """Return both protocols of both parts."""
        layout = self.context.layout
        made_by = layout.command("precompute", self.dataset)
        with FeatureStore(layout.file("precompute", self.dataset), made_by) as store:
            store.require(NEEDS)
            params = recorded(
                PrecomputeParams, {**store.params, "feature_norm": "none"}, store.path, made_by
            )
            edges = _mixed_edges(
                layout.file("split", self.dataset), layout.command("split", self.dataset)
            )
            made = []
            for part in PARTS:
                queries = [store.query(k, part, NEEDS) for k in range(store.info.num_tasks)]
                labels = store.labels(part)
                y, task = (
                    np.concatenate(labels),
                    np.repeat(np.arange(len(labels)), [len(y) for y in labels]),
                )
                mixed = _mixed_query(queries, edges[part], store.info.num_features, params)
                made += [
                    by_unit.Scene("grouped", part, tuple(queries), y, task),
                    by_unit.Scene("mixed", part, (mixed,), y, task),
                ]
        return made

    def routings(self, seed: int) -> list[list[by_unit.Routing]]:
        """Return the decisions of a seed's routers, per scene."""
        if seed not in self.routed:
            layout, params = self.context.layout, self.context.params
            infer: InferParams = replace(
                params.section(InferParams), profile="amp", metric="cosine"
            )  # whatever the run itself routes by
            looked: LensParams = params.section(LensParams)
            with FeatureStore(
                layout.file("precompute", self.dataset), layout.command("precompute", self.dataset)
            ) as store:
                prototypes = task_id.profiles(store.means("train"), infer)
                tasks = [lambda k=k: store.task(k, NEEDS) for k in range(store.info.num_tasks)]
                routers = by_unit.Routers(
                    tasks,
                    prototypes,
                    store.info.bounds,
                    store.info.num_features,
                    store.info.hops,
                    infer,
                    looked,
                    seed,
                )
            self.routed[seed] = [routers.route(scene) for scene in self.scenes]
        return self.routed[seed]


def run(bench: Bench, method: str, seed: int) -> Outcome:
    """Look at one trained method; reuse what is already right."""
    context, dataset, layout = bench.context, bench.dataset, bench.context.layout
    module, params = registry.load("taamctl.methods", method), context.params.section(LensParams)
    inputs = tuple(
        (layout.file(stage, dataset, method, seed), layout.command(stage, dataset, method, seed))
        for stage in ("split", "precompute", "train")
    )
    output = layout.folder("eval", dataset, method, seed) / FILE
    job = Job(
        "lens",
        f"{dataset}/{method}/seed-{seed}",
        {"lens": canonical(params), "infer": canonical(context.params.section(InferParams))},
        inputs,
        (output,),
        (*CODE, f"methods/{method}.py"),
        {"lens": params},
        flushes=True,
    )

    def compute() -> None:
        with (
            artefacts.Artefact(inputs[2][0], "train", inputs[2][1]) as trained,
            FeatureStore(*inputs[1]) as store,
        ):
            made, facts = trained.params, json.loads(trained.attribute("facts"))
            own, train = (
                recorded(module.Params, made["method"], *inputs[2]),
                recorded(TrainParams, made["train"], *inputs[2]),
            )
            devices.pin(torch.device("cpu"), train.threads)
            learner: Method = module.Method(
                own, store.info, train, made["seed"], torch.device("cpu")
            )
            learner.load(*model_store.read(trained))
            split_params = store.params
        cells = [
            cell
            for at, scene in enumerate(bench.scenes)
            for cell in _cells(learner, scene, _wanted(learner, scene, bench, seed, at), params)
        ]
        atomic_files.write_json(
            output,
            {
                "dataset": dataset,
                "method": method,
                "seed": seed,
                "title": facts["title"],
                "profile": facts["variant"],
                "scope": facts["scope"],
                "task_id": facts["task_id"],
                "memory_words": cost.paper(
                    facts["stored"]["parameters"], facts["stored"]["rows"], store.info.num_features
                ),
                "averaging": "balanced",
                "settings": {"precompute": split_params, "train": made, "lens": canonical(params)},
                "cells": cells,
            },
        )

    return execute(context, job, compute)


def _wanted(
    method: Method, scene: by_unit.Scene, bench: Bench, seed: int, at: int
) -> list[by_unit.Routing]:
    """Return the routings that make a difference to a method: all of them, the true tasks, or
    none.
    """
    if method.facts.task_id == "given":
        return [by_unit.Routing("given", query_units.Unit("node"), by_unit.HARD, scene.task)]
    if method.facts.task_id == "none":
        return [
            by_unit.Routing(
                "none",
                query_units.Unit("node"),
                by_unit.HARD,
                np.full(len(scene.y), method.info.num_tasks - 1),
            )
        ]
    return bench.routings(seed)[at]


def _cells(
    method: Method, scene: by_unit.Scene, routings: list[by_unit.Routing], params: LensParams
) -> list[dict[str, Any]]:
    bounds = np.array(method.info.bounds)
    out = []
    for routing, predicted in zip(
        routings, by_unit.answer(method, scene, routings, params.top), strict=True
    ):
        balanced, micro = matrix.average_over_tasks(scene.y, scene.task, predicted, bounds)
        known = routing.router not in ("none", "given")
        out.append(
            {
                "protocol": scene.protocol,
                "part": scene.part,
                "router": routing.router,
                "unit": routing.unit.kind,
                "size": routing.unit.size,
                "mode": routing.mode,
                "aa": balanced,
                "aa_micro": micro,
                "task_id_accuracy": float((routing.choice == scene.task).mean()) if known else None,
            }
        )
    return out


def _mixed_edges(path: Any, made_by: str) -> dict[str, CSR]:
    """Return the edges among all tasks' nodes of a part, numbered as the concatenated parts are."""
    from taamctl.graph.canonical import from_scipy, to_scipy

    with artefacts.Artefact(path, "split", made_by) as split:
        indptr, indices, offset = (
            split.read("mixed/indptr"),
            split.read("mixed/indices"),
            split.read("stream/offset"),
        )
    whole = to_scipy(CSR(indptr, indices, None, (len(indptr) - 1,) * 2))
    part_of_row = np.repeat(np.arange(len(offset) - 1) % 3, np.diff(offset))
    rows = {part: np.flatnonzero(part_of_row == p) for p, part in enumerate(PARTS, 1)}
    return {part: from_scipy(whole[mine][:, mine], binary=True) for part, mine in rows.items()}


def _mixed_query(
    queries: list[QueryGraph], edges: CSR, num_features: int, params: PrecomputeParams
) -> QueryGraph:
    """Return the query graph that holds the nodes of all `queries`, propagated over its own
    edges.
    """
    x: dict[str, Array] = {
        name: np.concatenate([q.extras[name] for q in queries]) for name in ("x_indices", "x_data")
    }
    lengths = np.concatenate([np.diff(q.extras["x_indptr"]) for q in queries])
    raw = CSR(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        x["x_indices"],
        x["x_data"],
        (len(lengths), num_features),
    )
    nodes = np.arange(len(lengths))
    made = features.compute(raw, nodes, np.array([0, len(nodes)]), edges, params, "none").group(
        0, params
    )
    extras = {"x_indptr": raw.indptr, **x, "indptr": made["indptr"], "indices": made["indices"]}
    return QueryGraph(
        torch.from_numpy(made["H"]), torch.from_numpy(made["deg"].astype(np.float32)), extras
    )
