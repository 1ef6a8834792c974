"""train: one method over one task stream -> train.h5, with a checkpoint after every task."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import torch

from taamctl.core import registry
from taamctl.core.types import StreamInfo, Task, TaskData
from taamctl.learning import device as devices
from taamctl.learning.method import Method
from taamctl.learning.run import train_stream
from taamctl.runtime import artefacts, provenance
from taamctl.runtime.checkpoints import FileCheckpoints
from taamctl.runtime.job import Context, Job, Outcome, execute, key_of
from taamctl.runtime.layout import command
from taamctl.runtime.params import canonical
from taamctl.runtime.schema import group

CODE = ("core", "runtime", "learning", "models", "stages/train.py")


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Train one method with one seed on one precomputed data set."""
    module = registry.load("taamctl.methods", method)
    own, train = context.params.plugin("methods", method, module.Params), context.params.section("train")
    device = devices.resolve(train.device)
    source, output = context.layout.file("precompute", dataset), context.layout.file("train", dataset, method, seed)
    recorded = {"train": {**canonical(train), "device": device.type}, "method": canonical(own), "seed": seed}
    job = Job("train", f"{dataset}/{method}/seed-{seed}", recorded, ((source, command("precompute", dataset)),), (output,),
              (*CODE, f"methods/{method}.py"))

    def compute() -> dict[str, Any]:
        devices.pin(device, train.threads)
        store = FileCheckpoints(context.layout.checkpoints(dataset, method, seed), key_of(job))
        with artefacts.Artefact(source, "precompute", command("precompute", dataset)) as features:
            bounds = features.read("stream/bounds")
            info = StreamInfo(features.shape(f"{group(0, 'train')}/H")[1], tuple((int(a), int(b)) for a, b in bounds))
            learner: Method = module.Method(own, info, train, seed, device)
            resumed = train_stream(learner, lambda k: _task(features, k, info), store, context.progress)
            sizes = np.bincount(np.concatenate([features.read(f"{group(k, 'train')}/y") for k in range(info.num_tasks)]),
                                minlength=info.num_classes)
        artefacts.create(output, "train", recorded, lambda writer: _fill(writer, learner, store, sizes))
        store.remove()
        return {"resumed_tasks": resumed, "device": provenance.machine().get("cuda") if device.type == "cuda" else "cpu"}

    return execute(context, job, compute)


def _task(features: artefacts.Artefact, k: int, info: StreamInfo) -> TaskData:
    where = group(k, "train")
    h, y, deg = (torch.from_numpy(features.read(f"{where}/{name}")) for name in ("H", "y", "deg"))
    return TaskData(Task(k, *info.bounds[k]), h, y, deg)


def _fill(writer: artefacts.Writer, learner: Method, store: FileCheckpoints, sizes: Any) -> None:
    writer.attribute("facts", json.dumps({**dataclasses.asdict(learner.facts), "scope": learner.scope, "variant": learner.variant,
                                          "stored": dataclasses.asdict(learner.stored(sizes))}))
    writer.put("stream/bounds", learner.info.bounds)
    for name, array in learner.shared().items():
        writer.put(f"shared/{name}", array)
    losses = np.full((learner.info.num_tasks, learner.train.epochs), np.nan, np.float32)
    for stage in range(learner.info.num_tasks):
        saved = store.load(stage) if learner.trains(stage) else None
        if saved is not None:
            losses[stage, :len(saved[2])] = saved[2]
            for name, array in saved[0].items():
                writer.put(f"stages/{stage:02d}/{name}", array)
    writer.put("loss", losses)
