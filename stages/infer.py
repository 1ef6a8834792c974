"""infer: task IDs from prototypes, and the predictions that follow from them -> infer.h5."""

from __future__ import annotations

import json

from taamctl.core import registry
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import method_class
from taamctl.learning.routing.linear_routing import RouterSettings
from taamctl.learning.routing.queries import infer_parts
from taamctl.learning.routing.routing_choice import Asked
from taamctl.learning.routing.task_id import profiles
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.recorded_params import recorded
from taamctl.params.train_params import InferParams, LensParams, TrainParams
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.store import artefact_writer, artefacts, infer_kind, model_store, train_kind
from taamctl.store.checkpoints import State
from taamctl.store.feature_store import FeatureStore


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Infer task IDs and predict val and test parts with one trained method."""
    params = context.params.section(InferParams)
    lens = context.params.section(LensParams)
    linear = RouterSettings(lens.router, lens.temperature)
    job = stage_jobs.infer(context, Which(dataset, method, seed))
    features_at, trained_at = job.inputs

    def compute() -> None:
        with (
            FeatureStore(*features_at) as features,
            artefacts.Artefact(trained_at[0], train_kind.TRAIN, trained_at[1]) as trained,
        ):
            learner, states = trained_again(method, features, trained, trained_at[1])
            routed = params.routed(learner.facts.routing)
            made = recorded(PrecomputeParams, features.params, *features_at)
            known = learner.facts
            asked = Asked(params, known.routing, linear, made, known.task_id == "inferred")
            arrays, used = infer_parts(learner, states, features, asked, job.outputs[0].parent)
            facts = {
                **json.loads(trained.attribute("facts")),
                "prototype_width": profiles(features.means("train"), routed).shape[1],
                "routed": used[-1].split("/"),
                "num_features": features.info.num_features,
                "settings": {"precompute": features.params, "train": trained.params},
            }
            arrays["stream/bounds"] = features.read("stream/bounds")
            arrays["classes/name"] = features.read("classes/name")

        def fill(writer: artefact_writer.Writer) -> None:
            writer.attribute("facts", json.dumps(facts, sort_keys=True))
            for path, array in arrays.items():
                writer.put(path, array)

        artefact_writer.create(job.outputs[0], infer_kind.INFER, job.params, fill)

    return execute(context, job, compute)


def trained_again(
    method: str, features: FeatureStore, trained: artefacts.Artefact, made_by: str
) -> tuple[Method, list[State]]:
    """Return a trained method as it was after the last task, and its states. It predicts on the
    CPU, always: the same predictions on every machine, and cheap beside training.
    """
    made = trained.params
    train = recorded(TrainParams, made["train"], trained.path, made_by)
    own = recorded(registry.method_params(method), made["method"], trained.path, made_by)
    cpu = devices.resolve("cpu")
    devices.pin(cpu, train.threads)
    learner = method_class(method)(own, features.info, train, made["seed"], cpu)
    shared, states = model_store.read(trained)
    learner.load(shared, states)
    return learner, states
