"""Which classes of a graph a bank learns, as which tasks, and from which nodes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taamctl.bank.graph_source import Source
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.graph import canonical
from taamctl.params.split_params import SplitParams
from taamctl.stream.node_parts import rule, split_by_time, split_class
from taamctl.stream.order import build_stream


@dataclass(frozen=True)
class Group:
    """The nodes of one new task.

    Attributes:
        names: class names. train, val: node ids, ascending. y_train, y_val: their classes, from 0.
    """

    names: tuple[str, ...]
    train: Array
    y_train: Array
    val: Array
    y_val: Array


def new_groups(
    source: Source,
    params: SplitParams,
    known: Sequence[str],
    wanted: Sequence[str] | None,
    per_task: int | None,
) -> tuple[list[Group], list[str]]:
    """Return the new tasks of a graph, in order, and what there is to say about what was left out.

    Nothing is kept for testing: the `train` and `test` shares of every class are trained on, its
    `val` share calibrates. Where the graph states its own parts, its train and val nodes are used,
    and its test nodes are left alone.

    Args:
        known: classes of the bank. wanted: names of classes; None: all that have labelled nodes and
            are not known.
        per_task: classes per task; None: the graph's own tasks where it states any, else all in
            one.
    """
    graph = source.graph
    labels = graph.labels
    if params.unlabelled == "as_released" and source.unlabelled_as is not None:
        labels = np.where(labels < 0, source.unlabelled_as, labels)
    chosen = _chosen(graph, labels, known, wanted)
    labels = np.where(np.isin(labels, chosen), labels, -1)
    counts = {label: int((labels == label).sum()) for label in chosen}
    if params.small_class == "refuse" and (
        small := [c for c, n in counts.items() if n < params.min_class_size]
    ):
        raise TaamctlError(
            f"classes with fewer than {params.min_class_size} nodes: "
            f"{', '.join(graph.class_names[c] for c in small)}",
            "leave them out with --classes, which names the others",
        )
    whole = replace(
        params,
        small_class="drop",
        classes_per_task=per_task or max(1, len(chosen)),
        odd_class="singleton_task",
        tasks=params.tasks if per_task is None else "by_size",
        train=1 - params.val,
        test=0.0,
    )
    stream, dropped = build_stream(labels, graph.class_names, whole, graph.given)
    notes = [f"class {d.name} is left out: {d.reason}" for d in dropped if d.label in chosen]
    order = (
        canonical.reader_order(graph.adjacency)
        if params.node_order == "reader"
        else np.arange(graph.num_nodes)
    )
    how = rule(whole, graph.given)
    by_class = {label: _split(label, labels, order, whole, graph, how) for label in stream.labels}
    if empty := [graph.class_names[c] for c, (train, _) in by_class.items() if not len(train)]:
        raise TaamctlError(
            f"classes without a node to learn from: {', '.join(empty)}",
            "set split.parts to drawn when the bank is made, or leave these classes out with "
            "--classes",
        )
    groups = []
    for task in stream.tasks:
        own = stream.labels[task.low : task.high]
        position = {label: i for i, label in enumerate(own)}
        train, val = (
            np.sort(np.concatenate([by_class[c][part] for c in own])).astype(np.int64)
            for part in (0, 1)
        )
        y_train, y_val = (
            np.array([position[c] for c in labels[ids].tolist()], np.int64) for ids in (train, val)
        )
        names = tuple(graph.class_names[c] for c in own)
        groups.append(Group(names, train, y_train, val, y_val))
        if not len(val):
            notes.append(
                f"{', '.join(names)}: no validation node, so no node is ever called unknown for "
                "these classes"
            )
    return groups, notes


def _chosen(
    graph: NodeGraph, labels: Array, known: Sequence[str], wanted: Sequence[str] | None
) -> list[int]:
    """Return the labels to learn."""
    present = set(np.unique(labels[labels >= 0]).tolist())
    names = {name: label for label, name in enumerate(graph.class_names)}
    if wanted is None:
        new = [label for name, label in names.items() if label in present and name not in known]
        if not new:
            had = [name for name, label in names.items() if label in present]
            raise TaamctlError(
                f"{graph.name} has no class to learn: "
                + (
                    f"the bank knows {', '.join(had)} already"
                    if had
                    else "none of its nodes has a label"
                )
            )
        return new
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            raise TaamctlError(
                f"{graph.name} has no class {name!r}",
                f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(names)}",
            )
        if name in known:
            raise TaamctlError(
                f"the bank knows the class {name!r} already",
                "remove its task first, or give the new class another name",
            )
        if names[name] not in present:
            raise TaamctlError(
                f"no node of {graph.name} is labelled {name!r}, so there is nothing to learn"
            )
    return sorted(names[name] for name in dict.fromkeys(wanted))


def _split(
    label: int, labels: Array, order: Array, params: SplitParams, graph: NodeGraph, how: str
) -> tuple[Array, Array]:
    """Return the nodes of a class to train on and to calibrate on."""
    if how == "given":
        assert graph.given.part is not None
        ids = np.flatnonzero(labels == label)
        return ids[graph.given.part[ids] == 0], ids[graph.given.part[ids] == 1]
    if how == "time":
        assert graph.given.time is not None
        return split_by_time(np.flatnonzero(labels == label), graph.given.time, params)[:2]
    return split_class(order[labels[order] == label], params)[:2]
