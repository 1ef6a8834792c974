"""Task-ID inference looked at before anything is trained: it depends on features and edges
alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypedDict

import numpy as np

from taamctl.core import subnormals
from taamctl.core.rows import of_whole
from taamctl.core.types import CSR, PARTS, Array
from taamctl.evaluation import routing
from taamctl.features import column_sizes
from taamctl.features.group_features import compute as propagate
from taamctl.features.raw_features import Norm, in_memory
from taamctl.features.split_parts import Parts
from taamctl.graph.canonical import to_scipy
from taamctl.learning.routing import node_profiles, routing_choice, task_id
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams
from taamctl.propagation.column_blocks import ArrayBlocks
from taamctl.propagation.operator import build
from taamctl.stream.task_split import Split

USUAL = ("amp", "cosine")  # what `as_published` means for all methods but those that say otherwise


class Routed(TypedDict):
    """How validation graphs are routed after the last task.

    Keys: by (profile/metric); accuracy (share of right task IDs); nearness; grid (the accuracy of
    every profile and metric); halves (per task the share of halves of its validation nodes that are
    routed right); surest (the smallest of these for every profile and metric); chosen (by halves).
    """

    by: str
    accuracy: float | None
    nearness: float | None
    grid: dict[str, float | None]
    halves: list[float | None]
    surest: dict[str, float | None]
    chosen: bool


@subnormals.flushed()  # as precompute and infer
def on_validation(
    raw: Array | CSR, split: Split, precompute: PrecomputeParams, norm: str, infer: InferParams
) -> Routed:
    """Return how the validation graphs of a split would be routed by prototypes; of `auto` what it
    chooses among them.

    Args:
        raw: [N, F] features of all nodes. norm: the resolved feature normalisation.
    """
    first = split.orig_id[: int(split.offset[1])]
    scaled = column_sizes.resolved(norm, of_whole(raw), first)
    train, val = (means(raw, split, part, precompute, scaled) for part in ("train", "val"))
    loads, labels = _nodes(raw, split, precompute, scaled)
    shares = routing_choice.prototype_shares(train, loads, labels, infer, precompute.ls_hops)
    last = len(train) - 1
    by = routing_choice.of_prototypes(shares, infer, USUAL, last)
    profile, metric = by.split("/")
    routed = replace(infer, profile=profile, metric=metric)
    queries, prototypes = task_id.profiles(val, routed), task_id.profiles(train, routed)
    decisions = task_id.decide(queries, prototypes, metric)
    choice = decisions.choice[-1]
    known = choice >= 0
    accuracy = float((choice == np.arange(len(choice)))[known].mean()) if known.any() else None
    grid = task_id.grid(val, train, routed).tolist()
    return {
        "by": by,
        "accuracy": accuracy,
        "nearness": routing.nearness(decisions.similarity[-1], metric),
        "grid": dict(zip(routing.ROUTINGS, grid, strict=True)),
        "halves": shares.by_name[by][last].tolist() if by in shares.by_name else [],
        "surest": {name: shares.worst(name, last) for name in shares.by_name},
        "chosen": infer.router == "auto",
    }


def _nodes(
    raw: Array | CSR, split: Split, precompute: PrecomputeParams, norm: Norm
) -> tuple[list[routing_choice.Load], list[Array]]:
    """Return per task what returns its validation nodes, and their classes."""
    parts = Parts.of(split.orig_id, split.offset, split.edges)

    def load(g: int, low: int, high: int) -> node_profiles.Nodes:
        operator = build(parts.edges(low, high), precompute.self_loops)
        x = in_memory(raw, split.orig_id[low:high], norm).x
        values = to_scipy(x) if isinstance(x, CSR) else x
        return node_profiles.tied(values, operator, g, precompute)

    loads: list[routing_choice.Load] = []
    labels = []
    for g in range(PARTS.index("val"), len(split.offset) - 1, len(PARTS)):
        low, high = int(split.offset[g]), int(split.offset[g + 1])
        loads.append(partial(load, g, low, high) if high > low else None)
        labels.append(split.y[low:high])
    return loads, labels


class _Unwanted(ArrayBlocks):
    """Where H would go, which is not needed and may be larger than the memory: nothing is kept."""

    def __init__(self, like: ArrayBlocks) -> None:
        self.x, self.width, self.shape = like.x, like.width, like.shape

    def write_columns(self, at: int, z: Array) -> None:
        """Drop it."""


def means(
    raw: Array | CSR, split: Split, part: str, precompute: PrecomputeParams, norm: Norm
) -> list[tuple[Array, Array] | None]:
    """Return hop means and LS means of a part of every task, as `precompute` stores them; None
    for a part without a node.
    """
    alone = replace(precompute, hops=0)
    parts = Parts.of(split.orig_id, split.offset, split.edges)
    out: list[tuple[Array, Array] | None] = []
    for g in range(PARTS.index(part), len(split.offset) - 1, len(PARTS)):
        low, high = int(split.offset[g]), int(split.offset[g + 1])
        if high == low:
            out.append(None)
            continue
        x = in_memory(raw, split.orig_id[low:high], norm)
        group = propagate(x, _Unwanted(x), parts.edges(low, high), g, alone)
        out.append((group.hop_mean.astype(np.float32), group.ls_mean.astype(np.float32)))
    return out
