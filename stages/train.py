"""train: one method over one task stream -> train.h5, with a checkpoint after every task."""

from __future__ import annotations

from collections.abc import Mapping

from taamctl.core import registry
from taamctl.core.progress import SILENT
from taamctl.core.types import Array
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.learn_stages import train_stream
from taamctl.learning.contract.recipe import Recipe, declared
from taamctl.params.train_params import TrainParams
from taamctl.runtime import stage_jobs
from taamctl.runtime.artefact_key import key_of
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Job, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.store import artefact_writer, model_store, train_kind
from taamctl.store.checkpoints import FileCheckpoints, State
from taamctl.store.feature_store import FeatureStore


def check(context: Context) -> None:
    """Refuse, before any work, a device that is not there."""
    devices.kind(context.params.section(TrainParams).device)


def plan(
    context: Context, dataset: str, method: str, seed: int
) -> tuple[Recipe, Job, FileCheckpoints]:
    """Return what a run learns, what it makes, and where its finished tasks are kept."""
    own = context.params.plugin("methods", method, registry.method_params(method))
    train = context.params.section(TrainParams)
    recipe = Recipe(method, own, train, seed, devices.kind(train.device))
    job = stage_jobs.train(context, Which(dataset, method, seed), recipe.device)
    folder = context.layout.checkpoints(dataset, method, seed)
    return recipe, job, FileCheckpoints(folder, lambda: key_of(context, job))


def run(
    context: Context,
    dataset: str,
    method: str,
    seed: int,
    learned: Mapping[str, object] | None = None,
) -> Outcome:
    """Train one method with one seed on one precomputed data set; `learned`: facts on the tasks
    that this command learned elsewhere, on a cluster.
    """
    recipe, job, store = plan(context, dataset, method, seed)

    def compute() -> dict[str, object]:
        if context.force and learned is None:
            store.remove()
        progress = context.progress if learned is None else SILENT
        with FeatureStore(*job.inputs[0]) as features:
            make, load_task, sizes = recipe.begin(features)
            resumed = train_stream(make, load_task, sizes, store, progress)
        learner = make()
        facts = declared(learner, sizes)

        def stage(t: int) -> tuple[State, Array] | None:
            return store.require(t) if learner.trains(t) else None

        def fill(writer: artefact_writer.Writer) -> None:
            shared = learner.shared()
            model_store.fill(writer, learner.info, facts, shared, stage, learner.epochs)

        artefact_writer.create(job.outputs[0], train_kind.TRAIN, job.params, fill)
        device = devices.name(devices.resolve(recipe.device))
        return {"resumed_tasks": resumed, "device": device, **(learned or {})}

    return execute(context, job, compute, store.remove)
