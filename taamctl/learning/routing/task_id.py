"""Task-ID inference: a graph's profile is compared with one prototype per task seen so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.routings import GRID
from taamctl.core.types import Array
from taamctl.params.train_params import InferParams

# Per graph: hop means [J, F] and LS means [2, F]; None without a node.
Means = Sequence[tuple[Array, Array] | None]


def amp_weights(hop: int, alpha: float) -> Array:
    """Return the weights of mean(S^j X), j = 0..hop, in the mean of AMP level `hop`.

    Z^0 = X, Z^i = (1 - alpha) S Z^(i-1) + alpha X, hence Z^i = (1 - alpha)^i S^i X + alpha
    sum_{j<i} (1 - alpha)^j S^j X. Source: TAAM (2026), Algorithm 1, Eqs. 4-6.
    """
    powers = (1 - alpha) ** np.arange(hop + 1, dtype=np.float64)
    weights = alpha * powers
    weights[hop] = powers[hop]
    return weights


def profile(hop_mean: Array, ls_mean: Array, params: InferParams) -> Array:
    """Return one graph's profile as a float64 vector.

    Args:
        hop_mean: [J, F] means of S^j X. ls_mean: [2, F], with and without the trailing D^-1/2.

    Raises:
        TaamctlError: a hop is asked for beyond what `precompute` stored.
    """
    if params.profile == "mean":
        return np.asarray(hop_mean[0], np.float64)
    if params.profile == "ls":
        return np.asarray(ls_mean[0 if params.ls_trailing_norm else 1], np.float64)
    if max(params.hops) >= len(hop_mean):
        raise TaamctlError(
            f"infer.hops asks for hop {max(params.hops)}, precompute stored hops up to "
            f"{len(hop_mean) - 1}",
            f"set precompute.max_hop to {max(params.hops)} or more",
        )
    blocks = [
        w * (amp_weights(hop, params.alpha) @ hop_mean[: hop + 1].astype(np.float64))
        for hop, w in sorted(params.hops.items())
    ]
    return np.concatenate(blocks)


def profiles(means: Means, params: InferParams) -> Array:
    """Return the profiles of T graphs as [T, D] float64; NaN for a graph without a node (None)."""
    known = {i: profile(*m, params) for i, m in enumerate(means) if m is not None}
    width = len(next(iter(known.values()), (0,)))
    out = np.full((len(means), width), np.nan)
    for i, row in known.items():
        out[i] = row
    return out


def similarity(query: Array, prototypes: Array, metric: str) -> Array:
    """Return the similarity of a profile [D] to prototypes [K, D]: cosine, minus the Euclidean
    distance, or `centred`: cosine after the mean of the prototypes is taken off both, which
    compares what tells tasks apart and not what they have in common.
    """
    if metric == "euclid":
        return np.asarray(-np.linalg.norm(prototypes - query, axis=1))
    if metric == "centred":
        centre = prototypes.mean(axis=0)
        return similarity(query - centre, prototypes - centre, "cosine")
    norms = np.linalg.norm(prototypes, axis=1) * np.linalg.norm(query)
    lowest = np.full(len(prototypes), -1.0)
    return np.asarray(np.divide(prototypes @ query, norms, out=lowest, where=norms > 0))


@dataclass(frozen=True)
class Decisions:
    """All task-ID decisions of a stream.

    Attributes:
        choice: [T, T] int64; row t, column j: task chosen at stage t for task j's query graph, -1
            where j > t.
        similarity: [T, T, T] float32; NaN where not compared.
        margin: [T, T] float32; best minus second best, NaN with one candidate.
    """

    choice: Array
    similarity: Array
    margin: Array

    @staticmethod
    def none(num_tasks: int) -> Decisions:
        """Return the tables without a decision."""
        t = num_tasks
        scores = np.full((t, t, t), np.nan, np.float32)
        return Decisions(np.full((t, t), -1, np.int64), scores, scores[0].copy())


def decide(queries: Array, prototypes: Array, metric: str) -> Decisions:
    """Decide every (stage, task): stage t compares with the prototypes of tasks 0..t; the lowest
    task wins a tie.

    Args:
        queries: [T, D] profiles of the query graphs; NaN rows (no node) get no decision.
        prototypes: [T, D] profiles of the training parts.
    """
    made = Decisions.none(len(prototypes))
    for j, query in enumerate(queries):
        if np.isnan(query).any():
            continue
        whole = similarity(query, prototypes, metric)
        for stage in range(j, len(prototypes)):
            seen = whole[: stage + 1]
            if metric == "centred":  # around the mean of the prototypes there are at that stage
                seen = similarity(query, prototypes[: stage + 1], metric)
            made.similarity[stage, j, : stage + 1] = seen
            made.choice[stage, j] = int(seen.argmax())
            if stage:
                second, first = np.partition(seen, -2)[-2:]
                made.margin[stage, j] = first - second
    return made


def from_similarity(similar: Array) -> Decisions:
    """Return the decisions that follow from similarities, [stage, T, T]; the largest one decides,
    of equal ones the lowest task's.

    Args:
        similar: row (stage, j) holds those of task j's query graph to tasks 0..stage; NaN where
            there are none.
    """
    made = Decisions.none(len(similar))
    made.similarity[:] = similar
    for stage, j in zip(*np.nonzero(~np.isnan(similar[:, :, 0])), strict=True):
        seen = similar[stage, j, : stage + 1]
        made.choice[stage, j] = int(seen.argmax())
        if stage:
            second, first = np.partition(seen, -2)[-2:]
            made.margin[stage, j] = first - second
    return made


def grid(queries: Means, prototypes: Means, params: InferParams) -> Array:
    """Return the share of right decisions after the last task for every profile and metric of
    `GRID`, [4] float64; NaN where their hops were not stored.

    It depends on the features alone, not on any method: what of a difference is the profile's, and
    what the metric's.

    Args:
        queries, prototypes: means of the query graphs and of the training parts.
    """
    out = np.full(len(GRID), np.nan)
    stored = min((len(m[0]) for m in (*queries, *prototypes) if m is not None), default=0)
    for i, (kind, metric) in enumerate(GRID):
        chosen = replace(params, profile=kind, metric=metric)
        if kind == "amp" and max(params.hops) >= stored:
            continue
        last = decide(profiles(queries, chosen), profiles(prototypes, chosen), metric).choice[-1]
        decided = last >= 0
        if decided.any():
            out[i] = (last == np.arange(len(last)))[decided].mean()
    return out


def given(num_tasks: int) -> Decisions:
    """Return the decisions of a method that knows the task: always the true one."""
    choice = np.where(np.tri(num_tasks, dtype=bool), np.arange(num_tasks), -1).astype(np.int64)
    return replace(Decisions.none(num_tasks), choice=choice)
