"""One replay of one data set with one method and one seed -> stream.h5, a snapshot kept after the
other until it is whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from taamctl.core import registry
from taamctl.core.data_set import Meta, data_set
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.progress import Progress
from taamctl.core.rows import of_whole
from taamctl.core.types import Array, NodeGraph
from taamctl.features import column_sizes
from taamctl.features.raw_features import normalise
from taamctl.graph.canonical import content_hash
from taamctl.learning.contract import device as devices
from taamctl.learning.kernels import ridge_memory
from taamctl.params.bank_params import BankParams
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.prequential.arrivals import Arrivals, arrivals_of
from taamctl.prequential.choose_follower import Recipe, follower, has_experts, has_sums
from taamctl.prequential.known_graph import WholeGraph
from taamctl.prequential.stream_options import StreamOptions
from taamctl.prequential.time_replay import Answers, Kept, Replay
from taamctl.propagation.backends import check_backend
from taamctl.propagation.room import Room
from taamctl.runtime.artefact_key import key_of
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Job, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.store import artefact_writer
from taamctl.store.checkpoints import FileCheckpoints
from taamctl.store.stream_kind import STREAM
from taamctl.stream.induce import message_edges

PROTOCOL = "prequential"


class Latest(FileCheckpoints):
    """Keep the latest snapshot alone: it holds all answers so far, and the model."""

    def save(
        self,
        stage: int,
        state: Mapping[str, Array],
        training: Mapping[str, Array],
        losses: Array,
    ) -> None:
        """Keep a snapshot, then remove the one before."""
        super().save(stage, state, training, losses)
        if stage:
            self._file(stage - 1).unlink(missing_ok=True)


@dataclass(frozen=True)
class Prepared:
    """A data set ready to be replayed.

    Attributes:
        sha256: of its edges, features and labels.
    """

    dataset: str
    options: StreamOptions
    arrivals: Arrivals
    graph: WholeGraph
    sha256: str

    def replay(self, context: Context) -> Replay:
        """Return the replay."""
        params = context.params.section(PrecomputeParams)
        return Replay(self.arrivals, self.graph, params, self.options.unknown)


def prepare(context: Context, dataset: str, options: StreamOptions) -> Prepared:
    """Load a data set and cut its time.

    Raises:
        TaamctlError: it has no times, or no two snapshots, or no two classes.
    """
    source = data_set(dataset)
    own = context.params.plugin("datasets", dataset, source.meta.params)
    raw = source.load(context.data_root, own)
    arrivals = arrivals_of(raw, labels_of(context, raw, source.meta.unlabelled_as), options)
    left_out = int((arrivals.snapshot < 0).sum())
    if left_out:
        context.tell(f"note: {left_out:,} nodes have no time and are left out, with their edges")
    whole = whole_graph(context, raw, source.meta, arrivals)
    whole = replace(whole, room=room_of(context, raw))
    return Prepared(dataset, options, arrivals, whole, content_hash(raw))


def labels_of(context: Context, raw: NodeGraph, unlabelled_as: int | None) -> Array:
    """Return the labels as a split takes them, [N] int64."""
    if unlabelled_as is None or context.params.section(SplitParams).unlabelled != "as_released":
        return raw.labels
    return np.where(raw.labels < 0, unlabelled_as, raw.labels)


def whole_graph(context: Context, raw: NodeGraph, meta: Meta, arrivals: Arrivals) -> WholeGraph:
    """Return the edges as a split uses them, and the features as precompute normalises them; sizes
    of features are those of the first snapshot.
    """
    params = context.params.section(PrecomputeParams)
    check_backend(params.backend)
    rule = context.params.section(SplitParams).symmetrize
    norm = params.resolved_norm(meta.feature_norm)
    first = np.flatnonzero(arrivals.snapshot == 0)
    sizes = column_sizes.resolved(norm, of_whole(raw.features), first)
    edges = message_edges(raw.adjacency, rule, meta.directed)
    return WholeGraph(edges, normalise(raw.features, sizes))


def room_of(context: Context, raw: NodeGraph) -> Room:
    """Return how much memory there is, beside what sums of all classes and a regression take."""
    width = context.params.section(BankParams).router.profile_width(raw.num_features)
    return Room(context.max_memory, ridge_memory.bytes_of(width, len(raw.class_names)))


def recipe_of(context: Context, options: StreamOptions, method: str, seed: int) -> Recipe:
    """Return what decides a method in a replay."""
    params = context.params
    bank = params.section(BankParams)
    train = params.section(TrainParams)
    return Recipe(
        method,
        params.plugin("methods", method, registry.method_params(method)),
        train,
        bank.router,
        bank.temperature,
        params.section(PrecomputeParams).hops,
        options.experts == "retrain" and has_experts(method),
        options.old_rows == "now" and has_sums(method),
        seed,
        devices.kind(train.device),
    )


def run(context: Context, prepared: Prepared, method: str, seed: int) -> Outcome:
    """Replay a data set with a method, or reuse what is there; a replay that was stopped goes on
    after its last whole snapshot.
    """
    job = job_of(context, prepared, Which(prepared.dataset, method, seed))
    folder = job.outputs[0].parent / "unfinished"
    kept = Latest(folder, lambda: key_of(context, job))

    def compute() -> dict[str, Plain]:
        if context.force:
            kept.remove()
        answers, resumed = answered(context, prepared, method, seed, kept, context.progress)
        artefact_writer.create(
            job.outputs[0], STREAM, job.params, lambda writer: _fill(writer, prepared, answers)
        )
        return {"seconds": answers.seconds.tolist(), "resumed_snapshots": resumed}

    return execute(context, job, compute, kept.remove)


def answered(
    context: Context,
    prepared: Prepared,
    method: str,
    seed: int,
    kept: Kept,
    progress: Progress,
    until: int | None = None,
) -> tuple[Answers, int]:
    """Return what a method says in a replay, and how many snapshots were kept."""
    recipe = recipe_of(context, prepared.options, method, seed)
    model = follower(recipe, prepared.arrivals, prepared.graph.features.shape[1])
    return prepared.replay(context).run(model, kept, progress, until)


def job_of(context: Context, prepared: Prepared, which: Which) -> Job:
    """Return what a replay makes."""
    recipe = recipe_of(context, prepared.options, which.method, which.seed)
    split = context.params.section(SplitParams)
    precompute = context.params.section(PrecomputeParams)
    asked = vars(prepared.options)
    in_recipe = ("experts", "old_rows")  # it says of them what there is to say
    params = {
        "graph": prepared.sha256,
        "stream": {name: value for name, value in asked.items() if name not in in_recipe},
        "recipe": canonical(recipe),
        "precompute": canonical(precompute),
        "split": {"symmetrize": split.symmetrize, "unlabelled": split.unlabelled},
    }
    return Job(
        "stream",
        which.label,
        params=params,
        inputs=(),
        outputs=context.layout.files("stream", *which),
        plugin=which.method,
        asked={"precompute": precompute, "train": recipe.train},
        flushes=True,
        unused=precompute.unused_libraries,
    )


def _fill(writer: artefact_writer.Writer, prepared: Prepared, answers: Answers) -> None:
    arrivals = prepared.arrivals
    writer.attribute("dataset", prepared.dataset)
    writer.attribute("protocol", PROTOCOL)
    writer.put("nodes/snapshot", arrivals.snapshot)
    writer.put("nodes/y", arrivals.y)
    writer.put("nodes/shown", arrivals.shown)
    writer.put("classes/name", arrivals.class_names)
    writer.put("classes/first", arrivals.first)
    for name, array in answers.arrays().items():
        writer.put(name, array)
