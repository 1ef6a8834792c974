"""Try a change of parameters: fit the linear probe on every task's training nodes, infer the task
of every validation graph, and count the right answers on its nodes.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from taamctl.core import registry, subnormals
from taamctl.core.rows import of_whole
from taamctl.core.types import CSR, PARTS, Array, NodeGraph, QueryGraph, StreamInfo, Task, TaskData
from taamctl.doctor import task_ids
from taamctl.evaluation import node_sampling
from taamctl.features import column_sizes
from taamctl.features.raw_features import Norm, in_memory
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import method_class
from taamctl.learning.routing import task_id
from taamctl.params.eval_params import EvalParams
from taamctl.params.params_file import set_value
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, TrainParams
from taamctl.planning.finding import Tried
from taamctl.propagation.operator import build
from taamctl.propagation.powers import hop_matrices
from taamctl.stream.induce import induce, message_edges
from taamctl.stream.task_split import Split

PROBE = "linear_probe"
CELLS = 20_000_000  # training values that all probes of one setting see, at most
FEWEST = 200  # training nodes of a task, at least
CHECKED = 4_000  # validation nodes of a task, at most
KEYS = ("precompute.", "split.symmetrize=")  # changes that leave every node in its part


@dataclass(frozen=True)
class Bench:
    """What changes are tried on.

    Attributes:
        graph, split: the data set, and its tasks and parts.
        params: as they are without a change. released: the data set's own normalisation.
        directed: its edges are directed where `symmetrize` is `as_released`.
    """

    graph: NodeGraph
    split: Split
    params: Params
    released: str
    directed: bool

    @property
    def bounds(self) -> Array:
        """Return [T, 2], the class range of every task."""
        return np.array([(task.low, task.high) for task in self.split.stream.tasks])


@dataclass(frozen=True)
class Answers:
    """What was said of validation nodes: [n] their classes, and whether that was right."""

    y: Array
    right: Array


@subnormals.flushed()  # as precompute
def tried(bench: Bench, changes: Sequence[str]) -> list[Tried]:
    """Return what every change gains over the parameters as they are.

    Raises:
        TaamctlError: a change names no parameter, or a value that it cannot have.
    """
    averaging = bench.params.section(EvalParams).averaging
    usual = _answers(bench, bench.params)
    nodes = np.bincount(usual.y, minlength=int(bench.bounds[-1][1]))
    share = node_sampling.class_shares(nodes, bench.bounds, averaging)
    right = np.bincount(usual.y[usual.right], minlength=len(nodes))
    before = float((right / np.maximum(nodes, 1)) @ share)
    out = []
    for change in changes:
        found = _answers(bench, _changed(bench.params, change))
        gain, low, high = node_sampling.gain_interval(
            usual.y, usual.right, found.right, bench.bounds, averaging
        )
        out.append(Tried(change, before, before + gain, low, high))
    return out


def _changed(params: Params, change: str) -> Params:
    tree = copy.deepcopy(dict(params.tree))
    for setting in change.split(" "):
        set_value(tree, setting)
    return replace(params, tree=tree)


def _answers(bench: Bench, params: Params) -> Answers:
    """Fit a probe per task, and ask it."""
    pre = params.section(PrecomputeParams)
    split = bench.split
    rule = params.section(SplitParams).symmetrize
    edges = split.edges
    if rule != bench.params.section(SplitParams).symmetrize:
        used = message_edges(bench.graph.adjacency, rule, bench.directed)
        edges = induce(used, split.orig_id, split.offset)
    first = split.orig_id[: int(split.offset[1])]
    raw = of_whole(bench.graph.features)
    norm = column_sizes.resolved(pre.resolved_norm(bench.released), raw, first)
    moved = replace(split, edges=edges)
    inferred = _task_ids(bench, moved, pre, norm, params.section(InferParams))
    y, right = [], []
    for task in split.stream.tasks:
        parts = [
            _rows(bench, edges, pre, norm, len(PARTS) * task.index + PARTS.index(part))
            for part in ("train", "val")
        ]
        found = _probed(bench, params, task, *parts)
        y.append(found.y)
        # a node that is sent to another task is given a class of that task
        right.append(found.right & (inferred[task.index] == task.index))
    return Answers(np.concatenate(y), np.concatenate(right))


def _task_ids(
    bench: Bench, split: Split, pre: PrecomputeParams, norm: Norm, infer: InferParams
) -> Array:
    """Return [T] the task that every validation graph is taken for after the last stage."""
    tasks = len(split.stream.tasks)
    if tasks < 2:
        return np.zeros(tasks, np.int64)
    routed = infer.routed(task_ids.USUAL)
    x = bench.graph.features
    train, val = (task_ids.means(x, split, part, pre, norm) for part in ("train", "val"))
    queries, prototypes = task_id.profiles(val, routed), task_id.profiles(train, routed)
    found: Array = task_id.decide(queries, prototypes, routed.metric).choice[-1]
    return found


def _rows(
    bench: Bench, edges: CSR, pre: PrecomputeParams, norm: Norm, group: int
) -> tuple[Array, Array]:
    """Return H [n, F] and the classes [n] of one group, fewer rows where there are many."""
    split = bench.split
    low, high = int(split.offset[group]), int(split.offset[group + 1])
    y = split.y[low:high]
    if low == high:
        return np.zeros((0, bench.graph.num_features), np.float32), y
    x = in_memory(bench.graph.features, split.orig_id[low:high], norm).x
    a, b = int(edges.indptr[low]), int(edges.indptr[high])
    own = CSR(
        edges.indptr[low : high + 1] - a,
        (edges.indices[a:b] - low).astype(np.int32),
        None,
        (high - low, high - low),
    )
    h = hop_matrices(build(own, pre.self_loops), x, {pre.hops}, pre.backend)[pre.hops]
    most = CHECKED
    if group % len(PARTS) == 0:
        share = CELLS // max(1, bench.graph.num_features * len(split.stream.tasks))
        most = max(FEWEST, share)
    if len(y) > most:
        some = np.sort(np.random.default_rng(group).choice(len(y), most, replace=False))
        return h[some], y[some]
    return h, y


def _probed(
    bench: Bench,
    params: Params,
    task: Task,
    train: tuple[Array, Array],
    val: tuple[Array, Array],
) -> Answers:
    """Fit the probe on one task alone, and ask it about validation nodes."""
    h, y = train
    asked, truth = val
    if not len(y) or not len(truth):
        return Answers(truth, np.zeros(len(truth), bool))
    method = _probe(params, h.shape[1], task.high - task.low)
    alone = Task(0, 0, task.high - task.low)
    data = TaskData(alone, torch.from_numpy(h), torch.from_numpy(y - task.low), torch.ones(len(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit cut short by its iterations is what a run has too
        method.learn((data,))
    method.load({}, [method.state()])
    logits = method.logits(QueryGraph(torch.from_numpy(asked), torch.ones(len(truth))), 0)
    return Answers(truth, logits.argmax(1).numpy() == truth - task.low)


def _probe(params: Params, num_features: int, classes: int) -> Method:
    own = params.plugin("methods", PROBE, registry.method_params(PROBE))
    train = params.section(TrainParams)
    info = StreamInfo(num_features, ((0, classes),))
    return method_class(PROBE)(own, info, train, 0, torch.device("cpu"))
