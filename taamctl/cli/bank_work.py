"""What a bank does with a graph that it learns, as far as memory goes."""

from __future__ import annotations

from collections import Counter

from taamctl.bank.config import Config
from taamctl.bank.manifest import Manifest
from taamctl.planning import counts
from taamctl.planning.costs import TRAIN_MODULATED
from taamctl.planning.counts import Graph
from taamctl.planning.graph_need import COPIES, GraphWork


def work_of(
    now: Manifest,
    config: Config,
    graph: Graph,
    per_task: int | None = None,
    *,
    wide: bool = False,
    beside: int = 0,
) -> GraphWork:
    """Return what is done with a graph.

    Args:
        per_task: classes of a new task; None: as the graph says, else all.
        wide: tasks change that the bank has; else it learns new ones.
        beside: how many of the nodes are those of a context.
    """
    share, matrices = _new(config, graph, per_task)
    neighbours = beside / max(1, graph.nodes)
    if wide:
        share, matrices = _known(now, graph, beside)
    if config.bank.edges == "all":  # rows see all tasks, and all tasks may change
        neighbours = 1.0
        matrices = max(matrices, matrices * (not wide) + len(now.classes))
    most = config.bank.val_rows
    new = min(most * _tasks(graph, per_task), int(config.split.val * graph.nodes))
    kept = new + sum(min(most, task.val) for task in now.tasks)
    return GraphWork(
        share * (1 - config.split.val),
        _copies(config),
        config.bank.router,
        matrices,
        config.has_experts,
        COPIES * kept,
        neighbours,
    )


def _known(now: Manifest, graph: Graph, beside: int) -> tuple[float, int]:
    """Return the share of a graph's nodes that belongs to the largest task of a bank, and how many
    Gram matrices are held when all tasks change: one a class, as half a matrix before and after.
    """
    known = [task.train + task.val for task in now.tasks]
    share = max(known, default=1) / max(1, sum(known))
    if graph.file is not None:
        sizes, _ = counts.class_sizes(graph.file)
        given = [sum(sizes.get(name, 0) for name in task.classes) for task in now.tasks]
        every = [own + min(old, beside) for own, old in zip(given, known, strict=True)]
        share = max(every, default=0) / max(1, graph.nodes)
    return share, len(now.classes)


def _new(config: Config, graph: Graph, per_task: int | None) -> tuple[float, int]:
    """Return the share of a graph's nodes that its largest task has, and how many Gram matrices
    are held while it is learned.
    """
    tasks = _tasks(graph, per_task)
    share = min(1.0, counts.LARGEST / tasks)
    if graph.file is not None and per_task is None:
        found: Counter[int] = Counter()
        sizes, task = counts.class_sizes(graph.file)
        for name, size in sizes.items():
            found[task[name]] += size
        share = max(found.values(), default=0) / max(1, graph.nodes)
    if config.bank.sums == "task":
        return share, 1
    return share, -(-graph.classes // tasks)


def _tasks(graph: Graph, per_task: int | None) -> int:
    """Return how many tasks its classes make."""
    if per_task is None:
        return graph.tasks or 1
    return max(1, graph.classes // per_task)


def _copies(config: Config) -> float:
    """Return how many arrays of a task's training nodes are in memory: of its validation nodes the
    hops, and the profiles that are made of them; of all what a model is trained on.
    """
    looked_at = range(max(config.infer.hops) + 1)
    hops = {config.precompute.hops, *config.bank.router.hops}.union(looked_at)
    found = (len(hops) + len(config.infer.hops)) * config.split.val / (1 - config.split.val)
    return found + config.has_experts * TRAIN_MODULATED[0]
