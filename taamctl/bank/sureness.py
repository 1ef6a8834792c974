"""How sure a bank routes: from validation nodes of every task, of which it keeps the mean profiles
of 100 random halves, and the router's profiles of at most 64 nodes. They are looked at anew with
every task that comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.config import Config
from taamctl.bank.prototype import Prototypes
from taamctl.bank.router import Router
from taamctl.bank.task_file import TaskState
from taamctl.core.routings import METRICS
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array
from taamctl.learning.kernels.ridge import Lift
from taamctl.learning.routing import halves, node_profiles, routers

ROWS = 64  # validation nodes of a task whose profile is kept
SAFE = 0.85  # share of every task's halves right from which on graphs are routed safely
SAFE_NODES = 0.5  # share of every task's nodes right from which on nodes are


def halves_of(hops: Mapping[int, torch.Tensor], y: Array, config: Config) -> Array | None:
    """Return the mean AMP profiles of random halves of a task's validation nodes, [100, D] float32;
    None without a node.

    Args:
        hops: j -> S^j X, [N, F]. y: [N] classes.
    """
    if not len(y):
        return None
    profiles = routers.amp_profiles(hops, config.infer)
    # the same draws for every task, so that the order of tasks changes no bit
    return np.asarray(halves.drawn(y, 0) @ profiles, np.float32)


def rows_of(hops: Mapping[int, torch.Tensor], lift: Lift, config: Config) -> Array | None:
    """Return the router's profiles of some validation nodes, [<= 64, P] float32; None without a
    node.
    """
    nodes = len(next(iter(hops.values())))
    if not nodes:
        return None
    chosen = np.sort(numpy_generator(0, "bank/rows").permutation(nodes)[:ROWS])
    weights = config.bank.router.hops
    return np.asarray(lift.profile({j: hops[j][chosen] for j in weights}, weights).numpy())


@dataclass(frozen=True)
class Sureness:
    """The share of each task's halves, or nodes, that are routed right; NaN where it is not known.

    Attributes:
        by_name: `amp/<metric>` and `ridge`, of a graph or component; `node` of ridge for a single
            node; [T] each.
    """

    by_name: Mapping[str, Array]

    def worst(self, name: str) -> tuple[int, float] | None:
        """Return position and share of the task that is routed worst; None where none is known."""
        found = self.by_name[name]
        if np.isnan(found).all():
            return None
        at = int(np.nanargmin(found))
        return at, float(found[at])

    def best_metric(self, usual: str) -> str:
        """Return the metric by which most halves are routed right; of equal ones the usual one,
        which it is too where nothing is known.
        """
        order = sorted(METRICS, key=lambda metric: metric != usual)
        return max(order, key=lambda metric: _mean(self.by_name[f"amp/{metric}"]))

    def graph_router(self, usual: str) -> tuple[str, str]:
        """Return (router, metric) by which most graphs are routed right; of equal ones ridge."""
        metric = self.best_metric(usual)
        better = _mean(self.by_name[f"amp/{metric}"]) > _mean(self.by_name["ridge"])
        return ("prototype" if better else "ridge"), metric


def _mean(shares: Array) -> float:
    known = shares[~np.isnan(shares)]
    return float(known.mean()) if len(known) else -1.0


def measured(tasks: Sequence[TaskState], config: Config, router: Router) -> Sureness:
    """Return how sure the tasks of a bank are told apart."""
    found = {name: np.full(len(tasks), np.nan) for name in ("node", "ridge")}
    found |= {f"amp/{metric}": np.full(len(tasks), np.nan) for metric in METRICS}
    if all(len(task.hop_mean) for task in tasks):  # else nodes were forgotten with them
        _by_prototypes(tasks, config, found)
    for t, task in enumerate(tasks):
        if task.rows is not None:
            said = _task_posterior(task.rows, config, router, len(tasks))
            found["node"][t] = (said.argmax(1) == t).mean()
            sets = halves.drawn(np.zeros(len(said), np.int64), 0)
            graphs = sets @ np.log(np.maximum(said, 1e-30))
            found["ridge"][t] = (graphs.argmax(1) == t).mean()
    return Sureness(found)


def _by_prototypes(tasks: Sequence[TaskState], config: Config, found: Mapping[str, Array]) -> None:
    """Note the share of each task's halves that prototypes route right."""
    table = Prototypes(config, [task.hop_mean for task in tasks]).table
    for t, task in enumerate(tasks):
        if task.halves is None:
            continue
        products = task.halves @ table.T
        for metric in METRICS:
            chosen = node_profiles.scores(products, table, metric).argmax(1)
            found[f"amp/{metric}"][t] = (chosen == t).mean()


def _task_posterior(rows: Array, config: Config, router: Router, tasks: int) -> Array:
    """Return the router's posterior of the tasks, [rows, T]."""
    scores = router.scores(torch.from_numpy(rows))
    p = torch.softmax(config.bank.temperature * scores, 1).numpy()
    return np.stack([p[:, router.owner == t].sum(1) for t in range(tasks)], 1)


def warning(found: Sureness, router: str, metric: str, unit: str, numbers: Sequence[int]) -> str:
    """Return what speaks against the tasks that a bank would choose; empty where nothing does, or
    nothing is known.

    Args:
        router: `ridge` or `prototype`. unit: `node`, `component` or `graph`.
        numbers: of the tasks, by position.
    """
    if len(numbers) < 2:
        return ""
    by = f"amp/{metric}" if router == "prototype" else "ridge"
    if unit == "node":
        if router == "prototype":
            return ""  # prototypes were looked at for graphs only
        return _of_nodes(found, numbers)
    weak = found.worst(by)
    if weak is None or weak[1] >= SAFE:
        return ""
    return (
        f"tasks by {by} are not safe for a {unit}: {100 * weak[1]:.0f} % of the halves of task "
        f"{numbers[weak[0]]}'s validation nodes are routed right (safe from {100 * SAFE:.0f} %)"
        f"{_instead(found, by)}"
    )


def _of_nodes(found: Sureness, numbers: Sequence[int]) -> str:
    weak = found.worst("node")
    if weak is None or weak[1] >= SAFE_NODES:
        return ""
    return (
        f"tasks are not safe for single nodes: {100 * weak[1]:.0f} % of the validation nodes of "
        f"task {numbers[weak[0]]} that the bank keeps are routed right (safe from "
        f"{100 * SAFE_NODES:.0f} %){_instead(found, 'node')}"
    )


def _instead(found: Sureness, by: str) -> str:
    """Return the options that validation is sure of."""
    for name in ("ridge", *(f"amp/{metric}" for metric in METRICS)):
        weak = found.worst(name)
        if name != by and weak is not None and weak[1] >= SAFE:
            router = "ridge" if name == "ridge" else "prototype --decide expert"
            return (
                f"; where a graph or component holds one task's nodes, safe is {name}: add --unit "
                f"graph (or component) --router {router}"
            )
    return "; no other routing is safe there"
