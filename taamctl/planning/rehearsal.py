"""Rehearse a method on drawn rows of the shapes that occur, for some seconds, and tell what its
training and its answers take.

Features, classes per task, width of the net and threads are the real ones. Cut are the number of
rows where there are very many, and the number of steps: a stage takes c + a E + sum of b_i f_i, E
epochs and f_i what else its parameters repeat, and c, a and b_i come from a few short trainings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Protocol

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method, State
from taamctl.learning.kernels import ridge, squeezed
from taamctl.params.train_params import RidgeParams, TrainParams
from taamctl.planning.costs import HASHED, Counts
from taamctl.planning.drawn_stream import DrawnStage
from taamctl.planning.routing_rehearsal import RoutingRehearsal
from taamctl.planning.solving import Solving
from taamctl.planning.spent import Spent, least_spent, spent

SHORT = 0.3  # CPU seconds that a difference of steps should take
LEAST = 2  # steps of the shortest training
WALKED = 24  # stages that are walked through to see how a method grows, at most
START = 0.04  # seconds of a stage that opens and writes its files
TAUGHT = 0.01  # seconds to keep what a stage taught
ASKED = 0.005  # seconds to read a task's query graphs, and to keep the answers
PAIR = 0.0002  # seconds of one query graph at one stage, however small
MARGIN = 2  # the factor that measured times keep to, but for a few: tests/benchmarks/estimates.py


@dataclass(frozen=True)
class Rehearsed:
    """What a method takes: its whole training, and one `infer`; note: what that rests on."""

    train: Spent
    infer: Spent
    note: str = ""


@dataclass(frozen=True)
class Learned:
    """What a short training leaves."""

    shared: State
    state: State
    training: State


class Once(Protocol):
    """One short training."""

    def __call__(self, epochs: int, repeats: Mapping[str, int]) -> Spent:
        """Return what it takes."""


@dataclass(frozen=True)
class Rehearsal:
    """One method with its parameters, on one graph's counts.

    Attributes:
        hops: k of H = S^k X. routing: of its task IDs; None where they cost nothing.
    """

    method: type[Method]
    own: object
    train: TrainParams
    counts: Counts
    hops: int
    device: str = "cpu"
    routing: RoutingRehearsal | None = None

    def run(self) -> Rehearsed:
        """Return what the method takes."""
        before = torch.get_num_threads()
        devices.pin(torch.device(self.device), self.train.threads)
        try:
            if self.method.work == "ridge" and isinstance(self.own, RidgeParams):
                found = self._ridge(self.own)
            else:
                found = self._by_steps()
            if self.routing is not None:
                taken, note = self.routing.taken, self.routing.note
                found = replace(found, infer=found.infer + taken, note=note)
        finally:
            torch.set_num_threads(before)
        train, infer = (Spent(seconds, seconds) for seconds in self._files())
        return replace(found, train=found.train + train, infer=found.infer + infer)

    def _files(self) -> tuple[float, float]:
        """Return the seconds that training and infer take for their files: of every stage that is
        trained, of every task's query graphs, and to read rows.
        """
        counts = self.counts
        row = 4.0 * counts.features / HASHED
        train = START + TAUGHT * len(self._trained()) + counts.train * row
        return train, START + ASKED * counts.tasks + (counts.val + counts.test) * row

    def _trained(self) -> list[int]:
        method = self._made(self._stage(0), "cpu")
        return [t for t in range(self.counts.tasks) if method.trains(t)]

    def _stage(self, index: int) -> DrawnStage:
        together = index + 1 if self.method.facts.sees == "all" else 1
        return DrawnStage(self.counts, self.hops, index, together)

    def _made(self, stage: DrawnStage, device: str, epochs: int = 0, **changes: int) -> Method:
        own = self.own
        if changes:
            own = replace(own, **changes)  # type: ignore[type-var]
        train = replace(self.train, epochs=epochs or self.train.epochs)
        return self.method(own, stage.info, train, 0, torch.device(device))

    def _repeats(self, stage: DrawnStage) -> dict[str, int]:
        """Return the whole numbers among the parameters that change how many steps there are."""
        if not is_dataclass(self.own):
            return {}
        usual = self._made(stage, "cpu").steps(stage.index)
        numbers = {
            each.name: value
            for each in fields(self.own)
            if type(value := getattr(self.own, each.name)) is int and value > LEAST
        }
        return {
            name: value
            for name, value in numbers.items()
            if self._made(stage, "cpu", **{name: value - 1}).steps(stage.index) != usual
        }

    def _by_steps(self) -> Rehearsed:
        trained = self._trained()
        first = self._stage(trained[0])
        learned, total = self._learned(first, [])
        total *= first.cut
        if len(trained) > 1:
            total += self._later(trained[1:], learned)
        return Rehearsed(total, self._answers(first, learned))

    def _later(self, trained: Sequence[int], learned: Learned) -> Spent:
        """Return what all trained stages but the first take."""
        second = self._stage(trained[0])
        other, early = self._learned(second, [learned])
        if self.method.facts.sees == "all":  # a stage grows with the number of its tasks
            sizes = [self._stage(t).together / second.together for t in trained]
            return early * (second.cut * sum(sizes))
        last = min(len(trained) - 1, WALKED)
        late = early
        if last and not self._made(second, "cpu").independent:
            # what is kept of earlier tasks grows, and with it what a stage takes
            kept = [learned, other]
            for t in trained[1:last]:
                kept.append(self._shortest(self._stage(t), kept))
            _, late = self._learned(self._stage(trained[last]), kept)
        grown = (len(trained) - 1) / 2 / max(1, last)
        return (early + (late - early) * grown) * (second.cut * len(trained))

    def _once(self, stage: DrawnStage, earlier: Sequence[Learned], kept: list[Learned]) -> Once:
        """Return what trains a stage for some steps and adds what that leaves to `kept`."""
        data = stage.data(self.method.facts.needs)

        def once(epochs: int, repeats: Mapping[str, int]) -> Spent:
            method = self._made(stage, self.device, epochs, **repeats)
            if earlier and not method.independent:
                states = [one.state for one in earlier]
                method.load(earlier[-1].shared, states, earlier[-1].training)

            def learn() -> None:
                method.learn(data)
                kept.append(Learned(method.shared(), method.state(), method.training_state()))

            return spent(learn)

        return once

    def _shortest(self, stage: DrawnStage, earlier: Sequence[Learned]) -> Learned:
        kept: list[Learned] = []
        self._once(stage, earlier, kept)(LEAST, dict.fromkeys(self._repeats(stage), LEAST))
        return kept[-1]

    def _learned(self, stage: DrawnStage, earlier: Sequence[Learned]) -> tuple[Learned, Spent]:
        """Return what a short training of a stage leaves, and what the whole one takes."""
        kept: list[Learned] = []
        once = self._once(stage, earlier, kept)
        repeats = self._repeats(stage)
        least = dict.fromkeys(repeats, LEAST)
        once(LEAST, least)  # libraries are loaded, memory is touched
        base = min((once(LEAST, least) for _ in range(2)), key=lambda one: one.cpu)
        total = base
        for name, value in {"": self.train.epochs, **repeats}.items():
            total += _slope(once, least, name, value, base) * max(0, value - LEAST)
        return kept[-1], total

    def _answers(self, stage: DrawnStage, learned: Learned) -> Spent:
        """Return what `infer` takes for validation and test; it is made on the CPU, always."""
        method = self._made(stage, "cpu")
        load = least_spent(lambda: method.load(learned.shared, [learned.state]))
        loads = load * (2 * self.counts.tasks)
        return loads + _of_infer(method, stage, self.counts)

    def _ridge(self, own: RidgeParams) -> Rehearsed:
        """Return what the closed form takes: hops and sums of all rows, and a regression per
        stage.
        """
        counts, stage = self.counts, self._stage(0)
        method = self._made(stage, "cpu")
        (data,) = stage.data(self.method.facts.needs)
        width = own.profile_width(counts.features)
        lift = ridge.Lift.draw(counts.features, own, 0)
        hops = dict.fromkeys(own.hops, data.h)
        classes = data.task.high - data.task.low

        rank = squeezed.kept_rank(width, getattr(own, "rank", None), counts.tasks)

        def keep() -> squeezed.Kept:
            return squeezed.of_nodes(hops, data.y - data.task.low, classes, lift, own, rank)

        kept = keep()
        sums = spent(keep) * (stage.cut * counts.tasks)
        state = {"weight": np.zeros((width, counts.classes), np.float32)}
        method.load({"lift": lift.matrix.numpy()}, [state])
        query = stage.query(self.method.facts.query_needs)
        # what a stage predicts of its own rows, and the hops of them
        again = least_spent(lambda: method.logits(query, 0)) * (counts.train / len(query.h))
        solved = self._solved(own, kept)
        return Rehearsed(sums + again + solved, _of_infer(method, stage, counts))

    def _solved(self, own: RidgeParams, kept: squeezed.Kept) -> Spent:
        """Return what a regression per stage takes.

        Args:
            kept: of one task.
        """
        counts = self.counts
        if not len(kept.gram) and own.ridge is None:
            middle = reduce(squeezed.Kept.joined, [kept] * ((counts.tasks + 1) // 2))
            return spent(lambda: middle.solve(own)) * counts.tasks
        solving = Solving.measured(len(kept.cross), counts.classes)
        return solving.ridge(own.ridge) * counts.tasks


def _slope(once: Once, least: Mapping[str, int], name: str, most: int, base: Spent) -> Spent:
    """Return what one more step of a kind takes: of `name`, or of epochs where that is empty."""
    more = LEAST
    while more < most:
        more = min(4 * more, most)
        steps = {"": LEAST, **least, name: more}
        found = once(steps.pop(""), steps) - base
        if found.cpu >= SHORT or more == most:
            return found * (1 / (more - LEAST))
    return Spent()


def _of_infer(method: Method, stage: DrawnStage, counts: Counts) -> Spent:
    """Return what the answers of all stages take, from those for one query graph."""
    query = stage.query(method.facts.query_needs)
    with torch.no_grad():
        logits = method.logits(query, 0)
        answer = least_spent(lambda: method.logits(query, 0))
        scopes = least_spent(lambda: method.scopes(logits, 0))
    share = (counts.val + counts.test) / len(query.h)
    stages = (counts.tasks + 1) / 2
    answers = 2.0 if method.cumulative else stages + 1
    asked = PAIR * counts.tasks * (counts.tasks + 1)  # of two parts
    return (answer * answers + scopes * stages) * share + Spent(asked, asked)
