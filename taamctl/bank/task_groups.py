"""Which classes of a graph a bank learns, as which tasks, and from which nodes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taamctl.bank import node_record
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
    *,
    by_name: bool = False,
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
        by_name: draw parts by the nodes' names alone, so that they are the same in any batch.
    """
    graph = source.graph
    labels = labels_of(source, params)
    present = set(np.unique(labels[labels >= 0]).tolist())
    if wanted is None:
        chosen = _all_new(graph, present, known)
    else:
        chosen = _those_named(graph, present, known, wanted)
    labels = np.where(np.isin(labels, chosen), labels, -1)
    if params.small_class == "refuse":
        _refuse_small(graph, labels, chosen, params.min_class_size)
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
    if by_name:
        parts = _parts_by_name(source, labels, stream.labels, params)
    else:
        parts = _parts(source, labels, stream.labels, whole)
    groups = []
    for task in stream.tasks:
        made = _group(graph, labels, stream.labels[task.low : task.high], parts)
        groups.append(made)
        if not len(made.val):
            notes.append(
                f"{', '.join(made.names)}: no validation node, so no node is ever called unknown "
                "for these classes"
            )
    return groups, notes


def labels_of(source: Source, params: SplitParams) -> Array:
    """Return the label of every node as a bank takes it, [N] int64; -1 = none."""
    labels = source.graph.labels
    if params.unlabelled == "as_released" and source.unlabelled_as is not None:
        labels = np.where(labels < 0, source.unlabelled_as, labels)
        labels[len(labels) - source.context :] = -1  # neighbours only
    return labels


def _all_new(graph: NodeGraph, present: set[int], known: Sequence[str]) -> list[int]:
    """Return the labels of all classes that have nodes and are not in the bank."""
    labels = [label for label in range(len(graph.class_names)) if label in present]
    new = [label for label in labels if graph.class_names[label] not in known]
    if new:
        return new
    reason = "none of its nodes has a label"
    if labels:
        names = ", ".join(graph.class_names[label] for label in labels)
        reason = f"the bank knows {names} already"
    raise TaamctlError(
        f"{graph.name} has no class to learn: {reason}",
        "give a graph with a class that the bank does not know, and its labels",
    )


def _those_named(
    graph: NodeGraph, present: set[int], known: Sequence[str], wanted: Sequence[str]
) -> list[int]:
    """Return the labels of the named classes, ascending."""
    names = {name: label for label, name in enumerate(graph.class_names)}
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
                f"no node of {graph.name} is labelled {name!r}, so there is nothing to learn",
                "leave that class out, or label nodes of it",
            )
    return sorted({names[name] for name in wanted})


def _refuse_small(graph: NodeGraph, labels: Array, chosen: Sequence[int], least: int) -> None:
    small = [graph.class_names[c] for c in chosen if np.count_nonzero(labels == c) < least]
    if small:
        raise TaamctlError(
            f"classes with fewer than {least} nodes: {', '.join(small)}",
            "leave them out with --classes, which names the others",
        )


Parts = dict[int, tuple[Array, Array]]  # label -> its nodes to train on, and to calibrate on


def _parts(source: Source, labels: Array, classes: Sequence[int], params: SplitParams) -> Parts:
    graph = source.graph
    order = np.arange(graph.num_nodes)
    if params.node_order == "reader" and source.reordered:
        order = canonical.reader_order(graph.adjacency)
    how = rule(params, graph.given)
    parts = {label: _split(label, labels, order, params, graph, how) for label in classes}
    _require_train(graph, parts)
    return parts


def _parts_by_name(
    source: Source, labels: Array, classes: Sequence[int], params: SplitParams
) -> Parts:
    graph = source.graph
    part = part_by_name(graph, params)
    parts: Parts = {}
    for label in classes:
        mine = labels == label
        train, val = mine & (part == node_record.TRAIN), mine & (part == node_record.VAL)
        parts[label] = (np.flatnonzero(train), np.flatnonzero(val))
    _require_train(graph, parts)
    return parts


def part_by_name(graph: NodeGraph, params: SplitParams) -> Array:
    """Return 0 for every node to train on, 1 to calibrate on, another number for neither,
    [N] int64: as the graph states them, else drawn by name.
    """
    if rule(params, graph.given) == "given":
        assert graph.given.part is not None
        return graph.given.part.astype(np.int64)
    names = node_record.names_of(graph)
    return node_record.drawn_for_val(names, params.seed, params.val).astype(np.int64)


def _require_train(graph: NodeGraph, parts: Parts) -> None:
    """Refuse classes without a node to learn from."""
    empty = [graph.class_names[label] for label, (train, _) in parts.items() if not len(train)]
    if empty:
        raise TaamctlError(
            f"classes without a node to learn from: {', '.join(empty)}",
            "leave these classes out with --classes until more nodes are there, or set split.parts "
            "to drawn when the bank is made",
        )


def _group(graph: NodeGraph, labels: Array, own: Sequence[int], parts: Parts) -> Group:
    """Return the task of the classes `own`."""
    position = {label: i for i, label in enumerate(own)}

    def classes_of(nodes: Array) -> Array:
        return np.array([position[label] for label in labels[nodes].tolist()], np.int64)

    train = np.sort(np.concatenate([parts[label][0] for label in own])).astype(np.int64)
    val = np.sort(np.concatenate([parts[label][1] for label in own])).astype(np.int64)
    names = tuple(graph.class_names[label] for label in own)
    return Group(names, train, classes_of(train), val, classes_of(val))


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
