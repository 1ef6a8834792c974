"""Rough prices of closed forms: a regression on node profiles, and routers that learn from sums."""

from __future__ import annotations

from dataclasses import replace

from taamctl.learning.kernels import ridge_memory, squeezed
from taamctl.learning.kernels.ridge_search import GRID
from taamctl.learning.routing.routing_lens import ROWS
from taamctl.params.train_params import RidgeParams
from taamctl.planning.costs import PER_ARTEFACT, TORCH, Cost, Counts, Rates, Workload

RIDGE_SOLVES = 1.2  # float64 products of P x P matrices that solving one stage amounts to
SQUEEZES = squeezed.STEPS + 1  # products of a task's covariance with its directions
SQUEEZE_SPARSE = 0.25  # time of such a product over sparse rows, over that of full ones, at most

LENS_WIDE = 12.0  # lens: bytes per node and number of a profile
LENS_ROW = 24.0  # and per node and feature
SUMS = 8.0  # bytes per task and entry of a Gram matrix


def train_ridge(c: Counts, r: Rates, width: int, views: int) -> Cost:
    """Price the closed form: sums over all nodes, and a solve per task in float64; all stages' sums
    are kept until the end.
    """
    solves = c.tasks * RIDGE_SOLVES * 2.0 * width**3 / (r.dense / 2)
    seconds = PER_ARTEFACT + _summed(c, r, width, views) + solves
    memory = TORCH + _rows(c, views) + ridge_memory.bytes_of(width, 0)
    return Cost("train", memory, _weights_and_lift(c, width), seconds)


def _summed(c: Counts, r: Rates, width: int, views: int) -> float:
    """Return the seconds of sums over all nodes: half a Gram matrix, N P^2 a view in float32, and
    as much time again for making and weighing the profiles, as measured.
    """
    return 2.0 * c.train * views * width**2 / r.dense


def _rows(c: Counts, views: int) -> float:
    """Return the bytes of the largest task's rows, as they are and propagated."""
    return 8.0 * c.largest * views * c.features


def train_squeezed(c: Counts, r: Rates, width: int, views: int, rank: int) -> Cost:
    """Price the closed form with `rank` directions per task: an iteration over the Gram matrix of
    a task, or over its nodes where they are few and sparse, and a solve per task and ridge of a
    system as wide as all directions.
    """
    rows = c.largest * views
    if rows < width and c.is_sparse:
        held = 8.0 * rows * (c.features + 2 * width)
        sums = 4.0 * c.train * views * width * SQUEEZE_SPARSE * SQUEEZES * rank / (r.dense / 2)
    else:
        held = _rows(c, views) + 8.0 * 4 * width**2 + ridge_memory.profiles_at_work(width)
        squeezes = 2.0 * width**2 * c.tasks * SQUEEZES * rank
        sums = _summed(c, r, width, views) + squeezes / (r.dense / 2)
    columns = rank * c.tasks + c.classes
    solves = c.tasks * len(GRID) * 4.0 * width * columns**2 / 3 / (r.dense / 2)
    memory = TORCH + held + 8.0 * 4 * width * columns
    disk = _weights_and_lift(c, width) + 2.0 * width * columns
    return Cost("train", memory, disk, PER_ARTEFACT + sums + solves)


def _weights_and_lift(c: Counts, width: int) -> float:
    """Return the bytes of a regression's weights after every task, and of its random matrix."""
    drawn = width if width < c.features else width - c.features
    return 4.0 * (width * c.classes * c.tasks / 2 + c.features * drawn)


def with_routers(cost: Cost, c: Counts, w: Workload, r: Rates) -> Cost:
    """Add to `infer` what routers that learn from sums take at every stage."""
    if w.routers is None:
        return cost
    views = 1 + len(w.routers.hops) * w.routers.views
    width = w.routers.profile_width(c.features)
    solved = train_ridge(c, r, width, views)
    cost = replace(cost, seconds=cost.seconds + solved.seconds)
    return with_sums(cost, c, w.routers)


def with_sums(cost: Cost, c: Counts, params: RidgeParams) -> Cost:
    """Add to a cost the memory of the sums of all tasks."""
    sums = SUMS * c.tasks * params.profile_width(c.features) ** 2
    return replace(cost, memory=cost.memory + sums)


def lens(c: Counts, router: RidgeParams, *, routed: bool) -> Cost:
    """Price the memory of `lens`: val and test parts task by task and as one graph; its seconds are
    not priced.

    Args:
        routed: all routers are asked, each of which reads all nodes' profiles.
    """
    held = 2.0 * (c.val + c.test) * c.features * (8.0 * c.filled + 4.0)
    cost = Cost("lens", TORCH + held, 0.0, 0.0, rough=True)
    if not routed:
        return replace(cost, memory=cost.memory + held)
    width = router.profile_width(c.features)
    rows = max(c.val, c.test)
    part = min(rows, ROWS) * LENS_WIDE * width + rows * LENS_ROW * c.features
    return with_sums(replace(cost, memory=cost.memory + part), c, router)
