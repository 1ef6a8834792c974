"""infer: task IDs from prototypes, and the predictions that follow from them -> infer.h5."""

from __future__ import annotations

import json

from taamctl.core import registry
from taamctl.core.plain_values import canonical
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.routing.queries import infer_part
from taamctl.learning.routing.task_id import profiles
from taamctl.params.sections import recorded
from taamctl.params.train_params import InferParams, TrainParams
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.store import artefact_writer, artefacts, model_store
from taamctl.store.feature_store import FeatureStore

CODE = (
    "core",
    "params",
    "runtime",
    "store",
    "propagation/differentiable.py",
    "learning",
    "models",
    "stages/infer.py",
)


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Infer task IDs and predict val and test parts with one trained method."""
    module, params = registry.load("taamctl.methods", method), context.params.section(InferParams)
    features_at, trained_at = (
        context.layout.file("precompute", dataset),
        context.layout.file("train", dataset, method, seed),
    )
    output = context.layout.file("infer", dataset, method, seed)
    inputs = (
        (features_at, context.layout.command("precompute", dataset)),
        (trained_at, context.layout.command("train", dataset, method, seed)),
    )
    job = Job(
        "infer",
        f"{dataset}/{method}/seed-{seed}",
        canonical(params),
        inputs,
        (output,),
        (*CODE, f"methods/{method}.py"),
        {"infer": params},
        flushes=True,
    )

    def compute() -> None:
        with (
            FeatureStore(*inputs[0]) as features,
            artefacts.Artefact(trained_at, "train", inputs[1][1]) as trained,
        ):
            made = trained.params
            train, own = (
                recorded(TrainParams, made["train"], *inputs[1]),
                recorded(module.Params, made["method"], *inputs[1]),
            )
            cpu = devices.resolve(
                "cpu"
            )  # always: the same predictions on every machine, and cheap beside training
            devices.pin(cpu, train.threads)
            learner: Method = module.Method(own, features.info, train, made["seed"], cpu)
            shared, states = model_store.read(trained)
            learner.load(shared, states)
            routed, needs = params.routed(learner.facts.routing), learner.facts.query_needs
            prototypes = features.means("train")
            parts = {
                part: infer_part(
                    learner,
                    states,
                    [features.query(k, part, needs) for k in range(features.info.num_tasks)],
                    features.labels(part),
                    features.means(part),
                    prototypes,
                    routed,
                )
                for part in ("val", "test")
            }
            used = {
                "prototype_width": profiles(prototypes, routed).shape[1],
                "routed": [routed.profile, routed.metric],
            }
            facts = {
                **json.loads(trained.attribute("facts")),
                **used,
                "num_features": features.info.num_features,
                "settings": {"precompute": features.params, "train": trained.params},
            }
            bounds, names = features.info.bounds, features.read("classes/name")

        def fill(writer: artefact_writer.Writer) -> None:
            writer.attribute("facts", json.dumps(facts, sort_keys=True))
            writer.put("stream/bounds", bounds)
            writer.put("classes/name", names)
            for path, array in (
                (f"{part}/{name}", a)
                for part, arrays in parts.items()
                for name, a in arrays.items()
            ):
                writer.put(path, array)

        artefact_writer.create(output, "infer", job.params, fill)

    return execute(context, job, compute)
