"""Training on a cluster: every unfinished task of every run is a unit, and what comes back is kept
as a checkpoint at once.

`stages/train.py` then finds all tasks finished, as after an interrupted run, and writes train.h5
from them. So nothing here decides a byte, a command that is stopped loses only what is in work, and
a lost worker costs time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from taamctl.cluster import probe, work_unit
from taamctl.cluster.unit_result import result_of, total
from taamctl.learning.contract.learn_stages import finished
from taamctl.learning.contract.recipe import Recipe
from taamctl.runtime import input_gate
from taamctl.runtime.artefact_key import key_of
from taamctl.runtime.execute import is_current
from taamctl.runtime.job import Context, Job
from taamctl.stages import train
from taamctl.store.checkpoints import FileCheckpoints
from taamctl.store.feature_store import FeatureStore
from taamctl.store.lock import writing

Run = tuple[str, str, int]


@dataclass
class Stream:
    """One training run with tasks to learn.

    Attributes:
        stages: the stages that have a model. num_tasks: T.
        independent: whether tasks may be learned side by side.
        costs: what its units took, so far.
    """

    recipe: Recipe
    job: Job
    store: FileCheckpoints
    expected: probe.Expected
    stages: list[int]
    num_tasks: int
    independent: bool
    costs: list[dict[str, float]] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Return what the sidecar says of the work."""
        return {
            "executor": "dask",
            "resumed_tasks": len(self.stages) - len(self.costs),
            "cost": total(self.costs),
        }


def learn(
    client: Any, context: Context, runs: Iterable[Run], held: ExitStack
) -> dict[Run, dict[str, Any]]:
    """Learn on the workers what is missing, keep it as checkpoints, and return for every run so
    helped what its sidecar should say.

    Args:
        client: a `distributed.Client`.
        runs: (data set, method, seed) whose features are there.
        held: receives the locks that keep the finished tasks from `taamctl clean`: to be closed
            when every artefact is made from them.

    Raises:
        TaamctlError: a worker differs from this process, a method refuses, or workers die over one
            unit again and again.
    """
    found = {run: _stream(context, held, *run) for run in sorted(runs)}
    streams = {run: stream for run, stream in found.items() if stream is not None}
    if not streams:
        return {}
    probe.require_everywhere(client, {s.expected for s in streams.values()})
    probe.tell_of_processors(client, context)
    pending = {
        future: work
        for stream in streams.values()
        for future, work in _submit(client, stream).items()
    }
    workers = len(client.scheduler_info()["workers"])
    context.progress.start(f"train on {workers} worker{'s' if workers > 1 else ''}", len(pending))
    try:
        _collect(client, context, pending)
    except BaseException:
        client.cancel(
            list(pending), force=True
        )  # what is in work ends by itself: a thread cannot be stopped
        raise
    context.progress.finish()
    return {run: stream.record() for run, stream in streams.items() if stream.costs}


def _stream(
    context: Context, held: ExitStack, dataset: str, method: str, seed: int
) -> Stream | None:
    """Return a run's stream, its tasks being held; None where its artefact is there."""
    recipe, job, store = train.plan(context, dataset, method, seed)
    input_gate.require(context, job)
    if is_current(context, job):
        return None
    tasks = context.layout.tasks(dataset, method, seed)
    held.enter_context(writing(tasks, wait=context.wait, tell=context.tell))
    if is_current(context, job):  # who was waited for has made it
        return None
    if context.force:
        with writing(
            job.outputs[0], wait=context.wait, tell=context.tell
        ):  # another command may be putting them together
            store.remove()
    source, made_by = job.inputs[0]
    (digest,) = key_of(context, job)["inputs"].values()
    with FeatureStore(source, made_by) as features:
        method_ = recipe.begin(features)[0]()
    stages = [t for t in range(method_.info.num_tasks) if method_.trains(t)]
    return Stream(
        recipe,
        job,
        store,
        probe.expect(job, source, digest, recipe.device),
        stages,
        method_.info.num_tasks,
        method_.independent,
    )


def _submit(client: Any, stream: Stream) -> dict[Any, tuple[Stream, int]]:
    """Send off every stage without a checkpoint; one that builds on others waits for them on the
    cluster, near their results.
    """
    made_by, label = stream.job.inputs[0][1], stream.job.label.replace("/", "-")
    sent: dict[Any, tuple[Stream, int]] = {}
    earlier: list[Any] = []
    for stage in stream.stages:
        name = f"{label}-task-{stage + 1}-{uuid.uuid4().hex}"
        saved = stream.store.load(stage)
        if saved is None:
            future = client.submit(
                work_unit.learn,
                stream.recipe,
                stream.expected,
                made_by,
                stage,
                list(earlier),
                key=f"learn-{name}",
                priority=0 if stream.independent else stream.num_tasks - stage,
            )  # long chains first
            sent[future] = (stream, stage)
        elif not stream.independent:
            future = client.submit(
                work_unit.known, work_unit.Learned(*saved, {}), key=f"known-{name}"
            )
        if not stream.independent:
            earlier.append(future)
    return sent


def _collect(client: Any, context: Context, pending: dict[Any, tuple[Stream, int]]) -> None:
    """Keep every result as it comes; take it out of `pending`, which frees the workers' memory."""
    from distributed import as_completed

    for future in as_completed(list(pending), loop=client.loop):
        stream, stage = pending[future]
        label = f"{stream.job.label} task {stage + 1}/{stream.num_tasks}"
        learned: work_unit.Learned = result_of(future, label)
        stream.store.save(stage, learned.state, learned.training, learned.losses)
        stream.costs.append(learned.cost)
        del pending[future]
        context.progress.advance()
        context.progress.line(finished(label, learned.losses, learned.cost["wall_s"]))
