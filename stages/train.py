"""train: one method over one task stream -> train.h5, with a checkpoint after every task."""

from __future__ import annotations

from typing import Any

from taamctl.core import registry
from taamctl.core.plain_values import canonical
from taamctl.core.progress import SILENT
from taamctl.core.types import Array
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.learn_stages import train_stream
from taamctl.learning.contract.recipe import Recipe, declared
from taamctl.params.train_params import TrainParams
from taamctl.runtime.job import Context, Job, Outcome, execute, key_of
from taamctl.store import artefact_writer, model_store
from taamctl.store.checkpoints import FileCheckpoints, State
from taamctl.store.feature_store import FeatureStore

CODE = (
    "core",
    "params",
    "runtime",
    "store",
    "propagation/differentiable.py",
    "learning",
    "models",
    "stages/train.py",
)


def check(context: Context) -> None:
    """Refuse, before any work, a device that is not there."""
    devices.resolve(context.params.section(TrainParams).device)


def plan(
    context: Context, dataset: str, method: str, seed: int
) -> tuple[Recipe, Job, FileCheckpoints]:
    """Return what a run learns, what it makes, and where its finished tasks are kept."""
    own = context.params.plugin("methods", method, registry.load("taamctl.methods", method).Params)
    train, source = context.params.section(TrainParams), context.layout.file("precompute", dataset)
    recipe = Recipe(method, own, train, seed, devices.resolve(train.device).type)
    recorded = {
        "train": {**canonical(train), "device": recipe.device},
        "method": canonical(own),
        "seed": seed,
    }
    inputs, output = (
        ((source, context.layout.command("precompute", dataset)),),
        context.layout.file("train", dataset, method, seed),
    )
    job = Job(
        "train",
        f"{dataset}/{method}/seed-{seed}",
        recorded,
        inputs,
        (output,),
        (*CODE, f"methods/{method}.py"),
        {"train": train, f"methods.{method}": own},
        flushes=True,
    )
    return (
        recipe,
        job,
        FileCheckpoints(
            context.layout.checkpoints(dataset, method, seed), lambda: key_of(context, job)
        ),
    )


def run(
    context: Context, dataset: str, method: str, seed: int, learned: dict[str, Any] | None = None
) -> Outcome:
    """Train one method with one seed on one precomputed data set; `learned`: facts on the tasks
    that this command learned elsewhere.
    """
    recipe, job, store = plan(context, dataset, method, seed)

    def compute() -> dict[str, Any]:
        if context.force and learned is None:
            store.remove()
        with FeatureStore(*job.inputs[0]) as features:
            make, load_task, sizes = recipe.begin(features)
            resumed = train_stream(
                make, load_task, sizes, store, context.progress if learned is None else SILENT
            )
        learner = make()
        facts = declared(learner, sizes)

        def stage(t: int) -> tuple[State, Array] | None:
            return store.require(t) if learner.trains(t) else None

        artefact_writer.create(
            job.outputs[0],
            "train",
            job.params,
            lambda to: model_store.fill(
                to, learner.info, facts, learner.shared(), stage, learner.epochs
            ),
        )
        return {
            "resumed_tasks": resumed,
            "device": devices.name(devices.resolve(recipe.device)),
            **(learned or {}),
        }

    return execute(context, job, compute, store.remove)
