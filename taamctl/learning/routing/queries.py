"""Predict every task's query graph at every stage of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.slices import Slices
from taamctl.core.types import SCOPES, Array, QueryGraph
from taamctl.learning.contract.method import Method, State
from taamctl.learning.routing import routing_choice, task_id
from taamctl.learning.routing.stage_answers import StageAnswers, label_type

# stage, query graph, chosen task, logits [n, seen] of the stage's model under it
Answered: TypeAlias = "tuple[int, int, int, torch.Tensor]"


def _columns(sizes: Iterable[int]) -> list[slice]:
    """Return where the nodes of every query graph stand, one graph after the other."""
    ends = np.cumsum([0, *sizes]).tolist()
    return [slice(*both) for both in pairwise(ends)]


class _Loaded(Sequence[QueryGraph]):
    """The query graphs of a part, each loaded when it is asked for."""

    def __init__(self, count: int, load: Callable[[int], QueryGraph]) -> None:
        self._count = count
        self._load = load

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> QueryGraph: ...

    @overload
    def __getitem__(self, at: slice) -> list[QueryGraph]: ...

    def __getitem__(self, at: int | slice) -> QueryGraph | list[QueryGraph]:
        if isinstance(at, slice):
            return [self._load(j) for j in range(self._count)[at]]
        return self._load(range(self._count)[at])


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
    columns = _columns(len(q.h) for q in queries)
    found = _predicted(method, states, queries, choice, columns)
    return {scope: answers.array() for scope, answers in found.items()}


def _predicted(
    method: Method,
    states: Sequence[State],
    queries: Sequence[QueryGraph],
    choice: Array,
    columns: Sequence[slice],
    folder: Path | None = None,
) -> dict[str, StageAnswers]:
    """Return the same by stages; in a file of `folder` where they are many."""
    shape = (len(queries), columns[-1].stop)
    kind = label_type(method.info.num_classes)
    out = {scope: StageAnswers(shape, kind, folder) for scope in (*SCOPES, "legacy")}
    answered = _from_the_last if method.cumulative else _stage_by_stage
    for stage, j, chosen, logits in answered(method, states, queries, choice):
        made = method.scopes(logits, chosen)
        for scope in SCOPES:
            out[scope].put(stage, columns[j], made.labels[scope].cpu().numpy())
        if stage == len(queries) - 1:
            for at, labels in enumerate(_legacy(method, logits, chosen, j), j):
                out["legacy"].put(at, columns[j], labels)
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
            query = queries[j]
            if chosen >= 0 and len(query.h):
                yield stage, j, chosen, _logits(method, query, chosen)


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
    folder: Path | None = None,
) -> tuple[dict[str, Array | Slices | tuple[str, ...]], tuple[str, ...]]:
    """Decide the task of every query graph of both parts and predict it; return the arrays of an
    `infer` artefact, by path, and the routing of every stage.

    Args:
        folder: where files of predictions go, if these are many; None: they are held in memory.
    """
    routing = routing_choice.decide(features, asked)
    found: dict[str, Array | Slices | tuple[str, ...]] = {
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
            **_part(method, states, features, part, decided, folder),
            "grid": task_id.grid(means, prototypes, infer),
        }
        found |= {f"{part}/{name}": array for name, array in made.items()}
    return found, routing.used


def _part(
    method: Method,
    states: Sequence[State],
    features: routing_choice.Features,
    part: str,
    decided: task_id.Decisions,
    folder: Path | None,
) -> dict[str, Array | Slices]:
    """Predict the query graphs of a part; their labels are passed through, and read by nothing."""
    t = features.info.num_tasks
    if method.facts.task_id == "given":
        decided = task_id.given(t)
    labels = features.labels(part)
    queries: Sequence[QueryGraph] = _Loaded(
        t, lambda k: features.query(k, part, method.facts.query_needs)
    )
    if not method.cumulative:  # each is asked at every stage from its own on
        queries = list(queries)
    columns = _columns(map(len, labels))
    answers = _predicted(method, states, queries, decided.choice, columns, folder)
    return {
        "y": np.concatenate(labels),
        "task": np.repeat(np.arange(t), [len(y) for y in labels]),
        "decision": decided.choice,
        "similarity": decided.similarity,
        "margin": decided.margin,
        **{scope: found.slices() for scope, found in answers.items()},
    }
