"""train: one method over one task stream -> train.h5, with a checkpoint after every task."""

from __future__ import annotations

import dataclasses
from typing import Any

from taamctl.core import registry
from taamctl.core.types import Array
from taamctl.learning import device as devices
from taamctl.learning.method import Method
from taamctl.learning.run import train_stream
from taamctl.runtime import artefacts, model_store
from taamctl.runtime.checkpoints import FileCheckpoints, State
from taamctl.runtime.feature_store import FeatureStore
from taamctl.runtime.job import Context, Job, Outcome, execute, key_of
from taamctl.runtime.params import canonical

CODE = ("core", "runtime", "learning", "models", "stages/train.py")


def check(context: Context) -> None:
    """Refuse, before any work, a device that is not there."""
    devices.resolve(context.params.section("train").device)


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Train one method with one seed on one precomputed data set."""
    module = registry.load("taamctl.methods", method)
    own, train = context.params.plugin("methods", method, module.Params), context.params.section("train")
    device = devices.resolve(train.device)
    source, output = context.layout.file("precompute", dataset), context.layout.file("train", dataset, method, seed)
    recorded = {"train": {**canonical(train), "device": device.type}, "method": canonical(own), "seed": seed}
    job = Job("train", f"{dataset}/{method}/seed-{seed}", recorded, ((source, context.layout.command("precompute", dataset)),), (output,),
              (*CODE, f"methods/{method}.py"), {"train": train, f"methods.{method}": own})
    store = FileCheckpoints(context.layout.checkpoints(dataset, method, seed), lambda: key_of(context, job))

    def compute() -> dict[str, Any]:
        devices.pin(device, train.threads)
        if context.force:
            store.remove()
        with FeatureStore(source, context.layout.command("precompute", dataset)) as features:
            def make() -> Method:
                made: Method = module.Method(own, features.info, train, seed, device)
                return made

            learner, sizes = make(), features.class_sizes()
            features.require((*learner.facts.needs, *learner.facts.query_needs))
            resumed = train_stream(make, lambda k: features.task(k, learner.facts.needs), sizes, store, context.progress)
        facts = {**dataclasses.asdict(learner.facts), "scope": learner.scope, "variant": learner.variant,
                 "stored": dataclasses.asdict(learner.stored(sizes))}

        def stage(t: int) -> tuple[State, Array] | None:
            return store.require(t) if learner.trains(t) else None

        artefacts.create(output, "train", recorded, lambda writer: model_store.fill(writer, learner.info, facts, learner.shared(), stage,
                                                                                    learner.epochs))
        return {"resumed_tasks": resumed, "device": devices.name(device)}

    return execute(context, job, compute, store.remove)
