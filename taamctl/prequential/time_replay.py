"""Replay a graph in time: at every snapshot predict what arrives, then show its labels and learn.

No answer knows a label of a node that it is for, nor anything of a later snapshot: models get rows
of the graph as it is known, and labels through `News` alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import Array
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.prequential.arrivals import Arrivals
from taamctl.prequential.follower import Follower, Labelled, News
from taamctl.prequential.known_graph import KnownGraph, WholeGraph

# by how much of a rate's error the next share is changed, and how far it may go: chosen on 16
# replays of Citeseer, Photo, Computer and Debian by the closed form
STEP = 0.25
LEAST = 0.2  # of the share that was asked for; at most halfway to all answers
NEVER = -np.inf  # how unsure an answer has to be while nothing is known of usual answers


class Kept(Protocol):
    """Where finished snapshots of an unfinished replay are kept."""

    def load(self, stage: int) -> tuple[Mapping[str, Array], Mapping[str, Array], Array] | None:
        """Return (answers so far, the model, seconds) after a snapshot, or None."""

    def save(
        self, stage: int, state: Mapping[str, Array], training: Mapping[str, Array], losses: Array
    ) -> None:
        """Keep them, whole or not at all."""


@dataclass(frozen=True)
class Answers:
    """What a model said in a replay of N nodes, H of them held back, over T snapshots.

    Attributes:
        label: [N] int32, the class before the node's label was shown; -1: not asked.
        sure: [N] float32, how sure that answer was; NaN: not asked.
        unknown: [N] int8, 1 where it was too unsure for any known class.
        held: [T, H] int32, the class of every held node after every snapshot; -1: not there yet.
        seconds: [T] float64, processor time of every snapshot; part of no artefact.
    """

    label: Array
    sure: Array
    unknown: Array
    held: Array
    seconds: Array

    @staticmethod
    def none(arrivals: Arrivals) -> Answers:
        """Return the answers before the first snapshot."""
        n = len(arrivals.y)
        return Answers(
            np.full(n, -1, np.int32),
            np.full(n, np.nan, np.float32),
            np.zeros(n, np.int8),
            np.full((arrivals.count, len(arrivals.held)), -1, np.int32),
            np.zeros(arrivals.count),
        )

    @staticmethod
    def of(arrays: Mapping[str, Array], seconds: Array) -> Answers:
        """Return what `arrays` returned, as answers again."""
        names = ("ahead/label", "ahead/sure", "ahead/unknown", "held/label")
        label, sure, unknown, held = (arrays[name] for name in names)
        return Answers(label, sure, unknown, held, seconds)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays, by their names in the artefact."""
        return {
            "ahead/label": self.label,
            "ahead/sure": self.sure,
            "ahead/unknown": self.unknown,
            "held/label": self.held,
        }


@dataclass(frozen=True)
class Replay:
    """What is replayed.

    Attributes:
        hops_of: precompute's parameters. false_alarms: share of known nodes that may be called
            unknown.
    """

    arrivals: Arrivals
    graph: WholeGraph
    hops_of: PrecomputeParams
    false_alarms: float

    def run(
        self, model: Follower, kept: Kept, progress: Progress = SILENT, until: int | None = None
    ) -> tuple[Answers, int]:
        """Return the answers, and how many snapshots were kept from an interrupted replay.

        Args:
            model: that has learned nothing. until: the last snapshot that is lived; None: all.
        """
        count = self.arrivals.count
        last = count - 1 if until is None else until
        progress.start("stream", last + 1)
        answers, done = self._resumed(model, kept, last)
        if done:
            progress.skip(done)
            progress.line(f"snapshot {done}/{count}: taken from an interrupted replay")
        for t in range(done, last + 1):
            began = time.process_time()
            self._snapshot(t, model, answers)
            answers.seconds[t] = time.process_time() - began
            kept.save(t, answers.arrays(), model.state(), answers.seconds)
            progress.advance()
            progress.line(f"snapshot {t + 1}/{count}: {answers.seconds[t]:.1f} s of CPU")
        progress.finish()
        return answers, done

    def _resumed(self, model: Follower, kept: Kept, last: int) -> tuple[Answers, int]:
        """Return the answers of the last snapshot that was kept, whose model is installed, and how
        many snapshots these are.
        """
        for t in range(last, -1, -1):
            found = kept.load(t)
            if found is not None:
                arrays, state, seconds = found
                model.load(state)
                return Answers.of(arrays, seconds), t + 1
        return Answers.none(self.arrivals), 0

    def _snapshot(self, t: int, model: Follower, answers: Answers) -> None:
        """Live one snapshot: predict, learn, and ask again what is held back."""
        at = self.arrivals.snapshot
        there = np.flatnonzero((at >= 0) & (at <= t))
        with self.graph.known(there, model.hops, self.hops_of) as known:
            self._lived(t, known, model, answers)

    def _lived(self, t: int, known: KnownGraph, model: Follower, answers: Answers) -> None:
        arrivals = self.arrivals
        asked = np.flatnonzero(arrivals.labelled & (arrivals.snapshot == t))
        if t and len(asked):
            label, sure = model.answer(known.of(asked))
            answers.label[asked] = label
            answers.sure[asked] = sure
            answers.unknown[asked] = sure < self._too_unsure(t, answers)
        news = self._news(t, known)
        if len(news.fresh.y) or model.renews:
            model.learn(news)
        held = arrivals.held
        old = np.flatnonzero(arrivals.snapshot[held] <= t)
        if len(old):
            answers.held[t, old] = model.answer(known.of(held[old]))[0]

    def _news(self, t: int, known: KnownGraph) -> News:
        arrivals = self.arrivals
        at = arrivals.snapshot

        def labelled(nodes: Array) -> Labelled:
            return Labelled(known.of(nodes), arrivals.y[nodes])

        fresh = labelled(np.flatnonzero(arrivals.shown & (at == t)))

        def so_far() -> Labelled:
            return labelled(np.flatnonzero(arrivals.shown & (at <= t)))

        return News(t, arrivals.seen(t), arrivals.tasks().get(t), fresh, so_far)

    def _too_unsure(self, t: int, answers: Answers) -> float:
        """Return what a share of the latest answers for nodes of known classes, whose labels were
        shown since, lies below.
        """
        arrivals = self.arrivals
        usual = arrivals.known & arrivals.shown & (arrivals.snapshot < t)
        if not usual.any() or not self.false_alarms:
            return NEVER
        latest = usual & (arrivals.snapshot == arrivals.snapshot[usual].max())
        return float(np.quantile(answers.sure[latest], self._share(t, answers)))

    def _share(self, t: int, answers: Answers) -> float:
        """Return the share of the latest answers to cut off: less than was asked for where more
        nodes of known classes were called unknown before, more where fewer were.

        Answers drift, as classes come: so the latest ones alone do not hold a rate. Source:
        adaptive conformal inference (Gibbs and Candes, 2021); the step is ours.
        """
        arrivals, share, judged = self.arrivals, self.false_alarms, False
        known = arrivals.known & arrivals.shown
        for s in range(1, t):
            now = known & (arrivals.snapshot == s)
            if not now.any():
                continue
            if judged:  # the first of them had no threshold
                share += STEP * (self.false_alarms - float(answers.unknown[now].mean()))
                low, high = LEAST * self.false_alarms, (1 + self.false_alarms) / 2
                share = min(max(share, low), high)
            judged = True
        return share
