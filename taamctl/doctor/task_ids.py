"""Task-ID inference looked at before anything is trained: it depends on features and edges
alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from taamctl.core import subnormals
from taamctl.core.types import CSR, PARTS, Array
from taamctl.evaluation import routing
from taamctl.features import compute as features
from taamctl.features.group import InMemory
from taamctl.features.group import compute as propagate
from taamctl.learning.routing import task_id
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams
from taamctl.stream.task_split import Split

USUAL = ("amp", "cosine")  # what `as_published` means for all methods but those that say otherwise


@subnormals.flushed()  # as precompute and infer
def on_validation(
    raw: Array | CSR, split: Split, precompute: PrecomputeParams, norm: str, infer: InferParams
) -> dict[str, Any]:
    """Return how the validation graphs of a split would be routed after the last task.

    Keys: by (profile/metric), accuracy (share of right task IDs), nearness, grid (the accuracy of
        every profile and metric).

    Args:
        raw: [N, F] features of all nodes. norm: the resolved feature normalisation.
    """
    routed = infer.routed(USUAL)
    means = {part: _means(raw, split, part, precompute, norm) for part in ("train", "val")}
    queries, prototypes = (task_id.profiles(means[part], routed) for part in ("val", "train"))
    made = task_id.decide(queries, prototypes, routed.metric)
    last, known = made.choice[-1], made.choice[-1] >= 0
    grid = task_id.grid(means["val"], means["train"], routed)
    return {
        "by": f"{routed.profile}/{routed.metric}",
        "accuracy": float((last == np.arange(len(last)))[known].mean()) if known.any() else None,
        "nearness": routing.nearness(made.similarity[-1], routed.metric),
        "grid": dict(zip(routing.ROUTINGS, grid.tolist(), strict=True)),
    }


class _Unwanted(InMemory):
    """Where H would go, which is not needed and may be larger than the memory: nothing is kept."""

    def __init__(self, like: InMemory) -> None:
        self.x, self.width, self.shape = like.x, like.width, like.shape

    def write_columns(self, at: int, z: Array) -> None:
        """Forget it."""


def _means(
    raw: Array | CSR, split: Split, part: str, precompute: PrecomputeParams, norm: str
) -> list[tuple[Array, Array] | None]:
    """Return hop means and LS means of a part of every task, as `precompute` stores them; None
    for a part without a node.
    """
    alone = replace(precompute, hops=0)
    made: list[tuple[Array, Array] | None] = []
    for g in range(PARTS.index(part), len(split.offset) - 1, len(PARTS)):
        low, high = int(split.offset[g]), int(split.offset[g + 1])
        if high == low:
            made.append(None)
            continue
        x = features.in_memory(raw, split.orig_id[low:high], norm)
        group = propagate(x, _Unwanted(x), features.inside(split.edges, low, high), g, alone)
        made.append((group.hop_mean.astype(np.float32), group.ls_mean.astype(np.float32)))
    return made
