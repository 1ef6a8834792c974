"""How far probabilities and sets can be trusted, held against labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from taamctl.bank.answers import Answers
from taamctl.core.types import Array

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Answers of about one confidence.

    Attributes:
        nodes: how many. confidence: their mean confidence. right: the share of them that is right.
    """

    nodes: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """Of nodes of known classes; shares are fractions.

    Attributes:
        bins: of equal width in confidence; those without a node are left out.
        ece: mean over nodes of |right - confidence| of their bin. log_loss: mean of -log p(right
            class), in nats. Both before: with the temperature that the bank was made with.
        coverage: share of sets that hold the right class; set_size: their mean number of classes;
            None without sets. task_coverage: the share, per number of a task.
    """

    bins: tuple[Bin, ...]
    ece: float
    ece_before: float
    log_loss: float
    log_loss_before: float
    coverage: float | None
    set_size: float | None
    task_coverage: Mapping[int, float]


def reliability(answers: Answers, label: Array) -> Reliability | None:
    """Hold probabilities and sets against labels; None without probabilities, or a node to look at.

    Args:
        answers: with probabilities. label: [N] class of every node as a position in the bank's
            classes; -1: none of these, or not known.
    """
    at = np.flatnonzero(label >= 0)
    if answers.probabilities is None or not len(at):
        return None
    wanted = label[at]
    p = answers.probabilities[at].astype(np.float64)
    before = _cooled(p, 1 / answers.calibration)
    bins = _bins(p, wanted)
    coverage = size = None
    by_task: dict[int, float] = {}
    if answers.sets is not None:
        sets = answers.sets[at]
        held = sets[np.arange(len(at)), wanted]
        coverage, size = float(held.mean()), float(sets.sum(1).mean())
        owner = np.array([answers.owner[c] for c in wanted.tolist()])
        by_task = {int(task): float(held[owner == task].mean()) for task in np.unique(owner)}
    return Reliability(
        bins,
        _ece(bins),
        _ece(_bins(before, wanted)),
        _loss(p, wanted),
        _loss(before, wanted),
        *(coverage, size, by_task),
    )


def _cooled(p: Array, power: float) -> Array:
    """Return p^power, scaled to sum to 1: softmax outputs with another temperature."""
    logs = power * np.log(np.maximum(p, 1e-30))
    raised = np.exp(logs - logs.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def _bins(p: Array, wanted: Array) -> tuple[Bin, ...]:
    confidence, right = p.max(1), p.argmax(1) == wanted
    of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return tuple(
        Bin(int((of == b).sum()), float(confidence[of == b].mean()), float(right[of == b].mean()))
        for b in np.unique(of)
    )


def _ece(bins: tuple[Bin, ...]) -> float:
    nodes = sum(b.nodes for b in bins)
    return sum(b.nodes * abs(b.right - b.confidence) for b in bins) / nodes


def _loss(p: Array, wanted: Array) -> float:
    return -float(np.log(np.maximum(p[np.arange(len(p)), wanted], 1e-30)).mean())


def area(known: Array, new: Array) -> float:
    """Return the area under the ROC curve: how often a new node's value is above a known one's."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([known, new]))[len(known) :]
    return float((ranks.sum() - len(new) * (len(new) + 1) / 2) / (len(known) * len(new)))
