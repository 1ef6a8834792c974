"""Fit what a bank knows of its own answers: from sums, and the validation nodes that it keeps.

Every known task is left out in turn (eight at most): its validation nodes then look as those of an
unknown task do, and tell how signs are put together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from taamctl.bank import router
from taamctl.bank.config import Config
from taamctl.bank.honest import LEVELS, Honest, weighed
from taamctl.bank.kept_val import looked_at
from taamctl.bank.logistic import logistic
from taamctl.bank.router import Router
from taamctl.bank.signs import SIGNS, Signs, over_edges, posterior, signs_of
from taamctl.bank.surplus import UNIT, beside, sampled, surplus
from taamctl.bank.task_file import Shared, TaskState
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.learning.kernels import ridge

FEWEST = 9  # kept nodes: from fewer, sets of 0.9 would hold every class, and all looks unusual
LEFT_OUT = 8  # tasks, at most: each costs a solution of the regression
COPIES = 4  # of a task's validation graph, each with other nodes in the place of its own
STRANGE = 0.3  # of the nodes of a task left out count: strangers may be fewer than a whole task
WARMEST, COLDEST = 1.0, 100.0  # temperatures that are looked at


@dataclass(frozen=True)
class Kept:
    """The kept nodes of all tasks as one graph, or others of their classes in their places.

    Attributes:
        profiles: [V, P] float32. label: [V], class of the bank. owner: [V], position of the task.
        copy: [V], which copy of their graph. adjacency: [V, V].
    """

    profiles: torch.Tensor
    label: Array
    owner: Array
    copy: Array
    adjacency: CSR

    def seen_by(self, signs: Signs, left: int = -1) -> Array:
        """Return how the nodes look to a regression that is asked about all of them, [V, 5].

        Args:
            left: position of the task that the regression is without.
        """
        assert signs.means is not None
        scores = outputs(self.profiles, signs)
        at = sampled(self.copy)
        mass = np.where(self.owner[at] == left, STRANGE, 1.0)
        answered = scores[at].argmax(1)
        told = surplus(self.profiles[at], answered, signs.means, at, self.copy, mass)
        return beside(signs.of(self.profiles, scores), told, self.profiles, 0)


def fitted(
    tasks: Sequence[TaskState], solved: Router, shared: Shared, config: Config
) -> Honest | None:
    """Return what the kept nodes of all tasks tell; None where too few are kept to tell it."""
    order = sorted(range(len(tasks)), key=lambda t: tasks[t].classes)
    judged = [t for t in order if tasks[t].val is not None]
    if sum(len(t.val.label) for t in tasks if t.val is not None) < FEWEST:
        return None
    penalty = _penalty(tasks, solved, config)
    every, without = _regressions(tasks, order, judged, solved, config, penalty)
    kept = _kept(tasks, judged, solved, shared, config)
    scores = outputs(kept.profiles, every)
    temperature = _temperature(scores, kept.label)
    right = posterior(scores, temperature)[np.arange(len(scores)), kept.label]
    signs = kept.seen_by(every)
    centre, scale = _scaling(signs)
    weight = _weights(kept, without)
    others = _kept(tasks, judged, solved, shared, config, COPIES)
    assert every.means is not None

    def unlike(signs: Array, edges: CSR) -> Array:
        """Return the quantiles of how unlike known nodes some look."""
        found = over_edges(weighed(signs, centre, scale, weight), edges)
        return np.asarray(np.quantile(found, LEVELS))

    return Honest(
        temperature,
        penalty,
        np.quantile(1 - right, LEVELS),
        len(scores),
        *(every.pull, every.rarity, centre, scale, weight),
        unlike(signs, kept.adjacency),
        unlike(others.seen_by(every), others.adjacency),
        every.means.numpy(),
    )


def _scaling(signs: Array) -> tuple[Array, Array]:
    """Return centre and scale of the signs of known nodes, [5] each. The surplus has fixed ones:
    how far it goes says how much there is.
    """
    centre, scale = signs.mean(0), signs.std(0) + 1e-9
    centre[-1], scale[-1] = 0, UNIT
    return centre, scale


def _penalty(tasks: Sequence[TaskState], solved: Router, config: Config) -> float:
    """Return the penalty of the regression, chosen again where the router's file did not say it."""
    if solved.ridge is not None:
        return solved.ridge
    again = router.solve([t.sums for t in tasks], [t.classes for t in tasks], config.bank.router)
    assert again.ridge is not None
    return again.ridge


def _regressions(
    tasks: Sequence[TaskState],
    order: Sequence[int],
    judged: Sequence[int],
    solved: Router,
    config: Config,
    penalty: float,
) -> tuple[Signs, dict[int, Signs]]:
    """Return what signs need of the whole bank, and of the bank without a task, by its
    position.
    """
    first = tasks[order[0]].sums()
    total, cross = first.gram.clone(), {order[0]: first.cross}
    nodes = {order[0]: first.nodes}
    for t in order[1:]:
        sums = tasks[t].sums()
        total += sums.gram
        cross[t], nodes[t] = sums.cross, sums.nodes
    here = torch.cat([cross[t] for t in range(len(tasks))], 1)
    every = signs_of(solved.weight, here, solved.deviation, total.diagonal())
    without: dict[int, Signs] = {}
    params = replace(config.bank.router, ridge=penalty)
    step = -(-len(judged) // LEFT_OUT)
    for left in judged[::step] if len(tasks) > 1 else ():
        kept = [t for t in order if t != left]
        gram = total - tasks[left].sums().gram
        some = torch.cat([cross[t] for t in kept], 1)
        sums = ridge.Sums(gram, some, sum(nodes[t] for t in kept))
        weight, _ = ridge.solve(sums, params)
        deviation = np.concatenate([solved.deviation[solved.owner == t] for t in kept])
        without[left] = signs_of(weight, some, deviation, gram.diagonal())
    return every, without


def _kept(
    tasks: Sequence[TaskState],
    judged: Sequence[int],
    solved: Router,
    shared: Shared,
    config: Config,
    copies: int = 0,
) -> Kept:
    """Return the kept nodes of some tasks; or, in so many copies of each task's graph, others of
    the same classes in their places.
    """
    import scipy.sparse as sp

    profiles, label, copy, edges = [], [], [], []
    for t in judged:
        val = tasks[t].val
        assert val is not None
        adjacency = val.adjacency(max(copies, 1))
        rows = np.arange(len(val.label))
        if copies:
            draw = numpy_generator(0, "bank/stand_ins")
            rows = exchanged(val.label, np.tile(val.label, copies), draw)
        profiles.append(looked_at(val.x[rows], adjacency, shared.lift, config)[0])
        label.append(np.flatnonzero(solved.owner == t)[0] + val.label[rows])
        copy.append(np.arange(len(rows)) // len(val.label))
        edges.append(to_scipy(adjacency, np.int8))
    owner = np.repeat(judged, [len(each) for each in label])
    adjacency = from_scipy(sp.block_diag(edges, "csr"), binary=True)
    return Kept(torch.cat(profiles), np.concatenate(label), owner, np.concatenate(copy), adjacency)


def outputs(profiles: torch.Tensor, signs: Signs) -> Array:
    """Return a regression's outputs, [N, C] float64."""
    return (profiles @ signs.weight).numpy().astype(np.float64)


def exchanged(kept: Array, wanted: Array, draw: np.random.Generator) -> Array:
    """Return for every node a random kept one of its class; of any where none of its class is
    kept, [N] rows.

    Args:
        kept: [V] classes of the kept nodes. wanted: [N] classes.
    """
    order = np.argsort(kept, kind="stable")
    classes, starts, counts = np.unique(kept[order], return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(classes, wanted), len(classes) - 1)
    there = classes[at] == wanted
    first = np.where(there, starts[at], 0)
    many = np.where(there, counts[at], len(kept))
    rows: Array = order[first + (draw.random(len(wanted)) * many).astype(np.int64)]
    return rows


def _temperature(scores: Array, label: Array) -> float:
    """Return the temperature whose log loss is least, one node more counted as any class: so that
    classes without an error give no end of certainty.
    """
    from scipy.optimize import minimize_scalar

    rows, n, classes = np.arange(len(label)), len(label), scores.shape[1]
    any_class = 1 / ((n + 1) * classes)

    def loss(power: float) -> float:
        p = posterior(scores, float(np.exp(power)))
        logs = np.log(np.maximum(p, 1e-30))
        return -float((logs[rows, label] + any_class * logs.sum(1)).mean())

    bounds = (float(np.log(WARMEST)), float(np.log(COLDEST)))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def _weights(kept: Kept, without: Mapping[int, Signs]) -> Array:
    """Return what every sign weighs, [5]: what tells tasks that were left out from the others; all
    alike, but for the surplus, where there is one task only.
    """
    rows, new, mass = [], [], []
    for left, signs in without.items():
        stranger = kept.owner == left
        if stranger.all():
            continue
        found = kept.seen_by(signs, left)
        centre, scale = _scaling(found[~stranger])
        rows.append(over_edges((found - centre) / scale, kept.adjacency))
        new.append(stranger)
        mass.append(np.where(stranger, 1 / stranger.sum(), 1 / (~stranger).sum()))
    if not rows:
        return np.array([1.0] * len(SIGNS) + [0.0])
    return logistic(np.concatenate(rows), np.concatenate(new), np.concatenate(mass))
