"""Whether task-ID inference can be trusted: what validation says of it, and which profile and
metric do better there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taamctl.core.routings import GRID, LINEAR, name
from taamctl.core.types import Array

ROUTINGS = tuple(map(name, GRID))  # profile and metric, in the order of the stored grid
# by how much nearer, as a share, the nearest prototype has to be than the second for a decision to
# be called safe
MARGIN = 0.2
# share of the halves of every task's validation nodes that have to be routed right for task IDs to
# be called safe
SAFE = 0.9


def nearness(similarity: Array, metric: str) -> float:
    """Return by which share the nearest prototype is nearer than the second, smallest over all
    query graphs; NaN with one candidate.

    On Citeseer, Photo and Debian it is above 0.45; where decisions fail, about 0.1.

    Args:
        similarity: [T, T] of every query graph (rows) to every prototype; NaN where not compared.
        metric: `cosine` or `centred` (distance 1 - similarity), or `euclid` (distance
            -similarity); of a router that learns from sums there is none.
    """
    if metric in LINEAR:
        return float("nan")
    most = 0.0 if metric == "euclid" else 1.0
    distance = most - np.asarray(similarity, np.float64)
    if distance.shape[1] < 2:
        return float("nan")
    first, second = np.sort(distance, axis=1)[:, :2].T  # NaN last
    known = ~np.isnan(second)
    shares = (second[known] - first[known]) / np.maximum(second[known], 1e-12)
    return float(shares.min()) if len(shares) else float("nan")


def doubts(
    accuracy: float | None, nearest: float | None, grid: Mapping[str, float | None], by: str
) -> list[str]:
    """Say why task IDs should not be trusted, from validation alone; empty where nothing speaks
    against them.

    Args:
        accuracy: share of validation graphs whose task was inferred right. nearest: as `nearness`
            gives it.
        grid: the same share for every one of `ROUTINGS`. by: the profile and metric in use,
            `amp/cosine`.
    """
    if accuracy is not None and accuracy < 1:
        return [
            f"task IDs by {by} are right on {100 * accuracy:.0f} % of the validation graphs, and "
            f"AA can hardly be higher; {_instead(accuracy, grid, by)}"
        ]
    if nearest is not None and not np.isnan(nearest) and nearest < MARGIN:
        return [
            f"task IDs by {by} are right on validation, but only just: the nearest prototype is "
            f"{100 * nearest:.0f} % nearer than the second (safe from {100 * MARGIN:.0f} %); also "
            f"right there: {', '.join(better(grid, by)) or 'no other'}"
        ]
    return []


def _instead(accuracy: float, grid: Mapping[str, float | None], by: str) -> str:
    if right := better(grid, by):
        return f"right on all of them: {', '.join(right)}"
    share, name = max(
        ((share, name) for name, share in grid.items() if share is not None), default=(accuracy, by)
    )
    return (
        f"none is right on all; most often right is {name} ({100 * share:.0f} %)"
        if share > accuracy
        else "no other does better"
    )


def better(grid: Mapping[str, float | None], by: str) -> list[str]:
    """Return the profiles and metrics, other than the one in use, that are right on every
    validation graph.
    """
    return [name for name in ROUTINGS if name != by and grid.get(name) == 1]


def settings(name: str) -> tuple[str, str]:
    """Return the parameters that choose a profile and metric, as `section.key=value`."""
    profile, metric = name.split("/")
    return f"infer.profile={profile}", f"infer.metric={metric}"
