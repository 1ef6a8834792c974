"""infer: task IDs from prototypes, and the predictions that follow from them -> infer.h5."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import numpy as np
import torch

from taamctl.core import registry
from taamctl.core.types import SCOPES, Array, QueryGraph, StreamInfo
from taamctl.learning import device as devices
from taamctl.learning import task_id
from taamctl.learning.method import Method
from taamctl.learning.params import TrainParams
from taamctl.learning.predict import predict_stream
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import command
from taamctl.runtime.params import bind, canonical
from taamctl.runtime.schema import group

CODE = ("core", "runtime", "learning", "models", "stages/infer.py")


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Infer task IDs and predict val and test parts with one trained method."""
    module = registry.load("taamctl.methods", method)
    params = context.params.section("infer")
    features_at, trained_at = context.layout.file("precompute", dataset), context.layout.file("train", dataset, method, seed)
    output = context.layout.file("infer", dataset, method, seed)
    inputs = ((features_at, command("precompute", dataset)), (trained_at, command("train", dataset, method, seed)))
    job = Job("infer", f"{dataset}/{method}/seed-{seed}", canonical(params), inputs, (output,), (*CODE, f"methods/{method}.py"))

    def compute() -> None:
        with artefacts.Artefact(*_open(inputs[0], "precompute")) as features, artefacts.Artefact(*_open(inputs[1], "train")) as trained:
            learner, states = _method(module, features, trained)
            found: dict[str, Array] = {}
            for part in ("val", "test"):
                found |= {f"{part}/{name}": array for name, array in _part(features, learner, states, params, part).items()}
            width = len(_profiles(features, params, "train", learner.info.num_tasks)[0])
            facts = {**json.loads(trained.attribute("facts")), "prototype_width": width, "num_features": learner.info.num_features}
            names = features.read("classes/name")

        def fill(writer: artefacts.Writer) -> None:
            writer.attribute("facts", json.dumps(facts))
            writer.put("stream/bounds", learner.info.bounds)
            writer.put("classes/name", names)
            for path, array in found.items():
                writer.put(path, array)

        artefacts.create(output, "infer", job.params, fill)

    return execute(context, job, compute)


def _open(source: tuple[Any, str], kind: str) -> tuple[Any, str, str]:
    return source[0], kind, source[1]


def _method(module: ModuleType, features: artefacts.Artefact, trained: artefacts.Artefact) -> tuple[Method, list[dict[str, Array]]]:
    """Rebuild the trained method from its artefact alone; return it with its stages' states."""
    made = trained.params
    train = bind(TrainParams, made["train"], "train", [])
    own = None if module.Params is None else bind(module.Params, made["method"], "method", [])
    info = StreamInfo(features.shape(f"{group(0, 'train')}/H")[1],
                      tuple((int(a), int(b)) for a, b in trained.read("stream/bounds")))
    device = devices.resolve("auto" if made["train"]["device"] == "cuda" else "cpu")
    devices.pin(device, train.threads)
    learner: Method = module.Method(own, info, train, made["seed"], device)
    shared = {p.removeprefix("shared/"): trained.read(p) for p in trained.paths("shared")} if trained.has("shared") else {}
    states = []
    for t in range(info.num_tasks):
        below = f"stages/{t:02d}"
        states.append({p.removeprefix(f"{below}/"): trained.read(p) for p in trained.paths(below)} if trained.has(below) else {})
    learner.load(shared, states)
    return learner, states


def _profiles(features: artefacts.Artefact, params: Any, part: str, num_tasks: int) -> Array:
    """Return the profile of every task's part, [T, D]; NaN for a part without a node."""
    rows = []
    for k in range(num_tasks):
        where = group(k, part)
        made = task_id.profile(features.read(f"{where}/hop_mean"), features.read(f"{where}/ls_mean"), params)
        rows.append(made if features.shape(f"{where}/y")[0] else np.full_like(made, np.nan))
    return np.stack(rows)


def _part(features: artefacts.Artefact, learner: Method, states: list[dict[str, Array]], params: Any, part: str) -> dict[str, Array]:
    t = learner.info.num_tasks
    decisions = task_id.given(t) if learner.facts.task_id == "given" else task_id.decide(
        _profiles(features, params, part, t), _profiles(features, params, "train", t), params.metric)
    queries = [QueryGraph(torch.from_numpy(features.read(f"{group(k, part)}/H")), torch.from_numpy(features.read(f"{group(k, part)}/deg")))
               for k in range(t)]
    labels = [features.read(f"{group(k, part)}/y") for k in range(t)]
    predicted = predict_stream(learner, states, queries, decisions.choice)
    return {"y": np.concatenate(labels), "task": np.repeat(np.arange(t), [len(y) for y in labels]), "decision": decisions.choice,
            "similarity": decisions.similarity, "margin": decisions.margin, **{scope: predicted[scope] for scope in SCOPES}}
