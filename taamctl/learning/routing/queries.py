"""Predict every task's query graph at every stage of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import SCOPES, Array, QueryGraph
from taamctl.learning.contract.method import Method, State
from taamctl.learning.routing import routing_choice, task_id

# stage, query graph, chosen task, logits [n, seen] of the stage's model under it
Answered: TypeAlias = "tuple[int, int, int, torch.Tensor]"


def _label_type(num_classes: int) -> type[np.int16 | np.int32]:
    """Return the smallest of the two types that holds the classes 0 to `num_classes` - 1."""
    if num_classes - 1 <= np.iinfo(np.int16).max:
        return np.int16
    return np.int32


def _columns(queries: Sequence[QueryGraph]) -> list[slice]:
    """Return where the nodes of every query graph stand, one graph after the other."""
    ends = np.cumsum([0, *(len(q.h) for q in queries)]).tolist()
    return [slice(*both) for both in pairwise(ends)]


def predict_stream(
    method: Method, states: Sequence[State], queries: Sequence[QueryGraph], choice: Array
) -> dict[str, Array]:
    """Return scope -> [T, N] predicted classes, the queries' rows one after the other; -1 where
    there is no prediction. They are int16 where that holds every class, else int32.

    `legacy` among the scopes: the final model's predictions in the method's own scope, all_seen cut
    to the classes seen at every stage. The released test pass reloads the final model for every
    stage, so this is what its "accuracy after stage t" is.

    Args:
        states: per stage what the method kept of it.
        queries: T query graphs.
        choice: [T, T] task chosen at a stage for a query graph; -1 for none.
    """
    columns = _columns(queries)
    shape = (len(queries), columns[-1].stop)
    kind = _label_type(method.info.num_classes)
    out = {scope: np.full(shape, -1, kind) for scope in (*SCOPES, "legacy")}
    answered = _from_the_last if method.cumulative else _stage_by_stage
    for stage, j, chosen, logits in answered(method, states, queries, choice):
        made = method.scopes(logits, chosen)
        for scope in SCOPES:
            out[scope][stage, columns[j]] = made.labels[scope].cpu().numpy()
        if stage == len(queries) - 1:
            out["legacy"][j:, columns[j]] = _legacy(method, logits, chosen, j)
    return out


def _stage_by_stage(
    method: Method, states: Sequence[State], queries: Sequence[QueryGraph], choice: Array
) -> Iterator[Answered]:
    """Load every stage's model and ask it for every task seen: T^2 / 2 query graphs."""
    shared = method.shared()
    for stage in range(len(queries)):
        if not method.trains(stage):
            continue
        method.load(shared, states[: stage + 1])
        for j in range(stage + 1):
            chosen = int(choice[stage, j])
            if chosen >= 0 and len(queries[j].h):
                yield stage, j, chosen, _logits(method, queries[j], chosen)


def _from_the_last(
    method: Method, states: Sequence[State], queries: Sequence[QueryGraph], choice: Array
) -> Iterator[Answered]:
    """Load the last model alone, once per query graph and chosen task: an earlier stage's logits
    are its first columns.
    """
    method.load(method.shared(), states)
    for j, query in enumerate(queries):
        logits: dict[int, torch.Tensor] = {}
        for stage in range(j, len(queries)):
            chosen = int(choice[stage, j])
            if chosen < 0 or not len(query.h) or not method.trains(stage):
                continue
            if chosen not in logits:
                logits[chosen] = _logits(method, query, chosen)
            yield stage, j, chosen, logits[chosen][:, : method.info.bounds[stage][1]]


def _logits(method: Method, query: QueryGraph, chosen: int) -> torch.Tensor:
    with torch.no_grad():
        return method.logits(query, chosen)


def _legacy(method: Method, logits: torch.Tensor, chosen: int, first: int) -> Array:
    """Return what the final model predicts at the stages from `first` on, [T - first, n]."""
    low, high = method.info.bounds[chosen]
    begin = low if method.scope == "task_only" else 0
    seen = [last for _, last in method.info.bounds[first:]]
    ends = seen if method.scope == "all_seen" else [high] * len(seen)
    return np.stack([(logits[:, begin:end].argmax(1) + begin).cpu().numpy() for end in ends])


def infer_parts(
    method: Method,
    states: Sequence[State],
    features: routing_choice.Features,
    asked: routing_choice.Asked,
) -> dict[str, Array | tuple[str, ...]]:
    """Decide the task of every query graph of both parts and predict it; return the arrays of an
    `infer` artefact, by path.
    """
    routing = routing_choice.decide(features, asked)
    found: dict[str, Array | tuple[str, ...]] = {
        "routing/used": routing.used,
        "routing/name": tuple(routing.shares),
    }
    t = features.info.num_tasks
    found["routing/halves"] = np.array(list(routing.shares.values())).reshape(-1, t, t)
    infer = asked.infer.routed(asked.published)
    prototypes = features.means("train")
    for part, decided in routing.decisions.items():
        means = features.means(part)
        made = {
            **_part(method, states, features, part, decided),
            "grid": task_id.grid(means, prototypes, infer),
        }
        found |= {f"{part}/{name}": array for name, array in made.items()}
    return found


def _part(
    method: Method,
    states: Sequence[State],
    features: routing_choice.Features,
    part: str,
    decided: task_id.Decisions,
) -> dict[str, Array]:
    """Predict the query graphs of a part; their labels are passed through, and read by nothing."""
    t = features.info.num_tasks
    queries = [features.query(k, part, method.facts.query_needs) for k in range(t)]
    labels = features.labels(part)
    if method.facts.task_id == "given":
        decided = task_id.given(t)
    return {
        "y": np.concatenate(labels),
        "task": np.repeat(np.arange(t), [len(y) for y in labels]),
        "decision": decided.choice,
        "similarity": decided.similarity,
        "margin": decided.margin,
        **predict_stream(method, states, queries, decided.choice),
    }
