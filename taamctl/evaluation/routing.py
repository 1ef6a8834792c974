"""Whether task-ID inference can be trusted: what validation says of it, and which profile and
metric do better there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from taamctl.core.routings import GRID, LINEAR, PROTOTYPES, TRUSTED, name, settings
from taamctl.core.types import Array

ROUTINGS = tuple(map(name, GRID))  # profile and metric, in the order of the stored grid
ORDER = (*map(name, PROTOTYPES), *LINEAR)  # in which equally good ones are named
# by how much nearer, as a share, the nearest prototype has to be than the second for a decision to
# be called safe
MARGIN = 0.2
# share of the halves of every task's validation nodes that have to be routed right for task IDs to
# be called safe; of a routing that these halves chose, which makes it look better than it is
SAFE = 0.85
SAFE_IF_CHOSEN = 0.9


@dataclass(frozen=True)
class Evidence:
    """What validation says of task IDs.

    Attributes:
        by: the routing in use, such as `amp/cosine`.
        accuracy: share of validation graphs whose task was inferred right.
        nearness: as `nearness` gives it.
        grid: the accuracy of every one of `ROUTINGS`.
        halves: per task the share of halves of its validation nodes whose task was inferred right;
            none where that is not known.
        surest: the smallest of these shares for every routing that was looked at.
        chosen: the routing was chosen by these halves.
    """

    by: str
    accuracy: float | None = None
    nearness: float | None = None
    grid: Mapping[str, float | None] = field(default_factory=dict)
    halves: Sequence[float | None] = ()
    surest: Mapping[str, float | None] = field(default_factory=dict)
    chosen: bool = False

    @property
    def weakest(self) -> tuple[int, float] | None:
        """The task, from 1, with the smallest share of halves, and the share; None where none is
        known.
        """
        known = [(share, task) for task, share in enumerate(self.halves, 1) if share is not None]
        if not known:
            return None
        share, task = min(known)
        return task, share

    @property
    def limit(self) -> float:
        """The share from which on the routing in use is called safe."""
        return SAFE_IF_CHOSEN if self.chosen else SAFE


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


def doubts(found: Evidence) -> list[str]:
    """Say why task IDs should not be trusted, from validation alone; empty where nothing speaks
    against them.
    """
    if found.accuracy is not None and found.accuracy < 1:
        return [
            f"task IDs by {found.by} are right on {100 * found.accuracy:.0f} % of the validation "
            f"graphs, and AA can hardly be higher; {_instead(found)}"
        ]
    if found.weakest is not None:
        return _unsure(found, *found.weakest)
    nearest = found.nearness
    if nearest is not None and not np.isnan(nearest) and nearest < MARGIN:
        others = better(found.grid, found.by)
        return [
            f"task IDs by {found.by} are right on validation, but only just: the nearest prototype "
            f"is {100 * nearest:.0f} % nearer than the second (safe from {100 * MARGIN:.0f} %); "
            f"also right there: {', '.join(others) or 'no other'}"
        ]
    return []


def _unsure(found: Evidence, task: int, share: float) -> list[str]:
    """Say by how many halves the weakest task falls short."""
    if share >= found.limit:
        return []
    return [
        f"task IDs by {found.by} are right on validation, but not safely: {100 * share:.0f} % of "
        f"the halves of task {task}'s validation nodes are routed right (safe from "
        f"{100 * found.limit:.0f} %); {_instead(found)}"
    ]


def _instead(found: Evidence) -> str:
    """Name what does better on validation."""
    if names := surer(found):
        listed = (
            f"{name} ({100 * (found.surest[name] or 0):.0f} % of the halves)" for name in names
        )
        return f"safe there: {', '.join(listed)}"
    if found.surest:
        return "no other is safe there"
    if right := better(found.grid, found.by):
        return f"right on all of them: {', '.join(right)}"
    known = [(share, name) for name, share in found.grid.items() if share is not None]
    share, best = max(known, default=(found.accuracy or 0.0, found.by))
    if share > (found.accuracy or 0.0):
        return f"none is right on all; most often right is {best} ({100 * share:.0f} %)"
    return "no other does better"


def surer(found: Evidence) -> list[str]:
    """Return the routings, other than the one in use, that are safe by halves of the validation
    nodes, the surest first; three at most.
    """
    safe = {
        name: share
        for name, share in found.surest.items()
        if name != found.by and share is not None and share >= SAFE_IF_CHOSEN and _is_trusted(name)
    }
    return sorted(safe, key=lambda name: (-safe[name], ORDER.index(name)))[:3]


def _is_trusted(name: str) -> bool:
    return name.partition("/")[0] in TRUSTED


def better(grid: Mapping[str, float | None], by: str) -> list[str]:
    """Return the profiles and metrics, other than the one in use, that are right on every
    validation graph.
    """
    return [name for name in ROUTINGS if name != by and grid.get(name) == 1]


def instead(found: Evidence) -> tuple[str, ...]:
    """Return the parameters that choose what does better on validation, as `section.key=value`;
    none where nothing does, or nothing is doubted.
    """
    if not doubts(found):
        return ()
    names = surer(found) or ([] if found.surest else better(found.grid, found.by))
    if names:
        return settings(names[0])
    # it looks at the routers that learn from sums too
    return () if found.chosen or not found.surest else ("infer.router=auto",)
