"""Fit what a bank knows of its own answers: from sums, and the validation nodes that it keeps.

Every known task is left out in turn (eight at most): its validation nodes then look as those of an
unknown task do, and tell how signs are put together.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from taamctl.bank.task_file import Shared, TaskState
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.learning.kernels import ridge

FEWEST = 9  # kept nodes: from fewer, sets of 0.9 would hold every class, and all looks unusual
LEFT_OUT = 8  # tasks, at most: each costs a solution of the regression
COPIES = 4  # of a task's validation graph, each with other nodes in the place of its own
WARMEST, COLDEST = 1.0, 100.0  # temperatures that are looked at


@dataclass(frozen=True)
class Seen:
    """What the kept nodes of one task look like.

    Attributes:
        task: its position. scores: [V, C] float64, of the whole bank. label: [V], class of the
            bank. adjacency: [V, V].
        signs: [1 + left out, V, 4], by the whole bank and by those without a task.
        exchanged: [COPIES * V, 4], of other nodes in their places; copies: [.., ..] their edges.
    """

    task: int
    scores: Array
    label: Array
    adjacency: CSR
    signs: list[Array]
    exchanged: Array
    copies: CSR


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
    seen = [_seen(t, tasks, solved, [every, *without.values()], shared, config) for t in judged]
    scores = np.concatenate([s.scores for s in seen])
    label = np.concatenate([s.label for s in seen])
    temperature = _temperature(scores, label)
    right = posterior(scores, temperature)[np.arange(len(label)), label]
    whole = np.concatenate([s.signs[0] for s in seen])
    centre, scale = whole.mean(0), whole.std(0) + 1e-9
    weight = _weights(seen, list(without))

    def unlike(signs: Array, edges: CSR) -> Array:
        return over_edges(weighed(signs, centre, scale, weight), edges)

    usual = np.concatenate([unlike(s.signs[0], s.adjacency) for s in seen])
    stand_ins = np.concatenate([unlike(s.exchanged, s.copies) for s in seen])
    return Honest(
        temperature,
        penalty,
        np.quantile(1 - right, LEVELS),
        len(label),
        *(every.pull, every.rarity, centre, scale, weight),
        np.quantile(usual, LEVELS),
        np.quantile(stand_ins, LEVELS),
    )


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


def _seen(
    position: int,
    tasks: Sequence[TaskState],
    solved: Router,
    every: Sequence[Signs],
    shared: Shared,
    config: Config,
) -> Seen:
    """Look at the kept nodes of a task.

    Args:
        every: what signs need of the whole bank, then of those without a task.
    """
    val = tasks[position].val
    assert val is not None
    first = int(np.flatnonzero(solved.owner == position)[0])
    phi, _ = looked_at(val.x, val.adjacency(), shared.lift, config)
    signs = [each.of(phi, _outputs(phi, each)) for each in every]
    copies = val.adjacency(COPIES)
    draw = numpy_generator(0, "bank/stand_ins")
    places = exchanged(val.label, np.tile(val.label, COPIES), draw)
    others, _ = looked_at(val.x[places], copies, shared.lift, config)
    return Seen(
        position,
        _outputs(phi, every[0]),
        first + val.label,
        val.adjacency(),
        signs,
        every[0].of(others, _outputs(others, every[0])),
        copies,
    )


def _outputs(profiles: torch.Tensor, signs: Signs) -> Array:
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


def _weights(seen: Sequence[Seen], left_out: Sequence[int]) -> Array:
    """Return what every sign weighs, [4]: what tells tasks that were left out from the others; all
    alike where there is one task only.
    """
    rows, new, mass = [], [], []
    for i, left in enumerate(left_out, 1):
        known = [s.signs[i] for s in seen if s.task != left]
        if not known:
            continue
        whole = np.concatenate(known)
        centre, scale = whole.mean(0), whole.std(0) + 1e-9
        for s in seen:
            stranger = s.task == left
            many = len(whole)
            if stranger:
                many = len(s.label)
            rows.append(over_edges((s.signs[i] - centre) / scale, s.adjacency))
            new.append(np.full(len(s.label), stranger))
            mass.append(np.full(len(s.label), 1 / many))
    if not rows:
        return np.ones(len(SIGNS))
    return logistic(np.concatenate(rows), np.concatenate(new), np.concatenate(mass))
