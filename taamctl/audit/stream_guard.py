"""Prove that a replay answers from what is known at the time: it is replayed once on the data as it
is, and once after every change of what comes later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from taamctl.audit.checks import Check, judged
from taamctl.audit.perturb import noise, rewired
from taamctl.audit.variants import Case, Run
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, NodeGraph
from taamctl.learning.contract.method import State
from taamctl.prequential import choose_follower, replay_file
from taamctl.prequential.arrivals import Arrivals, arrivals_of
from taamctl.prequential.known_graph import WholeGraph
from taamctl.prequential.replay_file import Prepared
from taamctl.prequential.stream_options import StreamOptions
from taamctl.prequential.time_replay import Answers

SNAPSHOTS = 4
CHANGES = {
    "features": "the features of nodes that arrive later",
    "edges": "the edges that touch nodes that arrive later",
    "labels": "labels that are shown later, or never",
}


class Nothing:
    """Keep no snapshot."""

    def load(self, stage: int) -> None:
        """Return that there is none."""

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        """Keep nothing."""


def guard(case: Case, run: Run) -> Iterator[Check]:
    """Yield the checks of one method in a replay: what changes its answers."""
    label = f"{case.dataset}/{run[0]}/seed-{run[1]}"
    try:
        prepared = prepared_of(case)
        choose_follower.require(run[0])
    except TaamctlError as error:
        yield Check("stream", label, "not run", error.message)
        return
    now = prepared.arrivals.count // 2
    right = _answers(case, prepared, run, now)
    for kind, change in CHANGES.items():
        other = _answers(case, changed(case, prepared, kind, now), run, now)
        moved = differing(prepared.arrivals, right, other, now, after=kind != "labels")
        culprit = f"{moved:,} answers up to snapshot {now + 1} change with {change}" * bool(moved)
        same = f"all answers up to snapshot {now + 1} stay as they are"
        yield judged("stream", f"{label}: {kind}", culprit or None, same)


def prepared_of(case: Case) -> Prepared:
    """Return the data set as it is replayed: with its own times, or with random ones.

    Raises:
        TaamctlError: it cannot be cut into snapshots.
    """
    times = "random"
    if case.raw.given.time is not None:
        times = "given"
    options = StreamOptions(SNAPSHOTS, None, times, 0, 0.2, 0.05, "retrain", "shown")
    labels = replay_file.labels_of(case.context, case.raw, case.source.meta.unlabelled_as)
    arrivals = arrivals_of(case.raw, labels, options)
    whole = _whole(case, case.raw, arrivals)
    return Prepared(case.dataset, options, arrivals, whole, "")


def changed(case: Case, prepared: Prepared, kind: str, now: int) -> Prepared:
    """Return the replay with one thing changed that is not known when a snapshot is answered.

    Args:
        kind: `features` or `edges` of nodes that arrive later than snapshot `now`, or `labels` of
            these, of the nodes of that snapshot, and of those that are never shown.
    """
    rng = numpy_generator(0, f"audit/stream/{kind}")
    arrivals = prepared.arrivals
    later = arrivals.snapshot > now
    if kind == "features":
        features = noise(case.raw.features, later, rng)
        graph = replace(case.raw, features=features)
        return replace(prepared, graph=_whole(case, graph, arrivals))
    if kind == "edges":
        adjacency, _ = rewired(case.raw.adjacency, later, rng)
        graph = replace(case.raw, adjacency=adjacency)
        return replace(prepared, graph=_whole(case, graph, arrivals))
    hidden = arrivals.labelled & ((arrivals.snapshot >= now) | ~arrivals.shown)
    y = arrivals.y.copy()
    y[hidden] = rng.integers(arrivals.seen(now), size=int(hidden.sum()))
    return replace(prepared, arrivals=replace(arrivals, y=y))


def _whole(case: Case, graph: NodeGraph, arrivals: Arrivals) -> WholeGraph:
    return replay_file.whole_graph(case.context, graph, case.source.meta, arrivals)


@subnormals.flushed()
def _answers(case: Case, prepared: Prepared, run: Run, now: int) -> Answers:
    found, _ = replay_file.answered(case.context, prepared, *run, Nothing(), SILENT, now)
    return found


def differing(arrivals: Arrivals, one: Answers, other: Answers, now: int, *, after: bool) -> int:
    """Return how many answers differ that were given up to snapshot `now`.

    Args:
        after: count those that were given after it was learned too.
    """
    asked = arrivals.snapshot <= now
    pairs = ((one.label, other.label), (one.sure, other.sure), (one.unknown, other.unknown))
    unlike = [(a[asked] != b[asked]) & ~(np.isnan(a[asked]) & np.isnan(b[asked])) for a, b in pairs]
    ahead = np.any(unlike, axis=0)
    rows = now + int(after)
    return int(ahead.sum() + (one.held[:rows] != other.held[:rows]).sum())
