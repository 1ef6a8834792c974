"""Split every class into train, val and test, and group the nodes by (task, part)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS, Array, Given, TaskStream
from taamctl.params.split_params import SplitParams
from taamctl.stream.order import NOTHING_GIVEN


def sizes(n: int, params: SplitParams) -> tuple[int, int, int]:
    """Return how many of n nodes go to train, val and test: n_train = max(1, int(n (1 - (val +
    test)))), val rounded down.

    Fewer than 3 nodes: the first is train, the second val.
    """
    if n < 3:
        return min(n, 1), max(0, n - 1), 0
    n_train = min(n - 1, max(1, int(n * (1 - (params.val + params.test)))))
    rest = n - n_train
    n_test = min(rest, math.ceil(params.test / (params.val + params.test) * rest))
    return n_train, rest - n_test, n_test


def split_class(ids: Array, params: SplitParams) -> tuple[Array, Array, Array]:
    """Split one class's node ids, given in ascending order.

    Draws exactly what two calls of scikit-learn's `train_test_split` with `random_state=seed` draw:
    first train from all nodes, then val and test from the rest. Fewer than 3 nodes are not drawn
    but taken in order.

    Source: the released split routine of TAAM (2026); scikit-learn is the independent reference in
    the tests.
    """
    n = len(ids)
    if n < 3:
        return ids[:1], ids[1:2], ids[2:]
    n_train, _, n_test = sizes(n, params)
    order = np.random.RandomState(params.seed).permutation(n)
    rest, train = np.split(ids[order], [n - n_train])
    order = np.random.RandomState(params.seed).permutation(len(rest))
    test, val = np.split(rest[order], [n_test])
    return train, val, test


def split_by_time(ids: Array, time: Array, params: SplitParams) -> tuple[Array, Array, Array]:
    """Split one class's node ids by time: the oldest are train, the newest test; equally old ones
    by id.

    Args:
        ids: node ids, ascending. time: [N] float64; nodes without a time (NaN) are in no part.
    """
    known = ids[~np.isnan(time[ids])]
    oldest_first = known[np.argsort(time[known], kind="stable")]
    n_train, n_val, _ = sizes(len(known), params)
    train, val, test = np.split(oldest_first, [n_train, n_train + n_val])
    return train, val, test


def rule(params: SplitParams, given: Given) -> str:
    """Return how parts are made: `given`, `time` or `drawn`.

    Raises:
        TaamctlError: by time, where the graph has no times.
    """
    if params.parts == "time":
        if given.time is None:
            raise TaamctlError(
                "split.parts is time, but this graph has no times",
                "set split.parts to drawn, or import the graph with a time for every node",
            )
        return "time"
    if params.parts == "as_given" and given.part is not None:
        return "given"
    return "drawn"


def group_nodes(
    labels: Array,
    order: Array,
    stream: TaskStream,
    params: SplitParams,
    given: Given = NOTHING_GIVEN,
) -> tuple[Array, Array, Array]:
    """Return the nodes of every (task, part), tasks first; inside a group in the given order.

    Args:
        labels: [N] int64 data-set labels.
        order: [N] the node order that parts are drawn in and rows stand in.
        given: what the graph itself states of parts and times.

    Returns:
        orig_id [M] int64, y [M] int64 stream class ids, offset [T*3 + 1] int64 group boundaries.

    Raises:
        TaamctlError: by time without times; a class has no training node; or none of the given
            parts is test.
    """
    how = rule(params, given)

    def split(label: int) -> tuple[Array, ...]:
        if how == "drawn":
            return split_class(order[labels[order] == label], params)
        ids = np.flatnonzero(labels == label)
        if how == "time":
            assert given.time is not None
            return split_by_time(ids, given.time, params)
        assert given.part is not None
        return tuple(ids[given.part[ids] == part] for part in range(len(PARTS)))

    by_class = [split(label) for label in stream.labels]
    _require_train_and_test(by_class, stream.class_names, how)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))

    def ordered(nodes: Array) -> Array:
        return np.asarray(nodes[np.argsort(place[nodes], kind="stable")])

    groups = [
        ordered(np.concatenate(part))
        for task in stream.tasks
        for part in zip(*by_class[task.low : task.high], strict=True)
    ]
    stream_id = np.full(max(stream.labels) + 1, -1, np.int64)
    stream_id[list(stream.labels)] = np.arange(stream.num_classes)
    orig_id = np.concatenate(groups).astype(np.int64)
    offset = np.cumsum([0, *map(len, groups)], dtype=np.int64)
    return orig_id, stream_id[labels[orig_id]], offset


def _require_train_and_test(
    by_class: Sequence[tuple[Array, ...]], names: Sequence[str], how: str
) -> None:
    """Name every class that has no training node; refuse given parts that test nothing."""
    untrained = [name for name, parts in zip(names, by_class, strict=True) if not len(parts[0])]
    if untrained:
        lacks = {"given": "no node given to train", "time": "no node with a time"}
        raise TaamctlError(
            f"classes with {lacks.get(how, 'no node')}: {', '.join(untrained)}",
            "set split.parts to drawn, or import the graph with training nodes of these classes, "
            "or without their labels",
        )
    if how == "given" and not any(len(parts[2]) for parts in by_class):
        raise TaamctlError(
            "no node of any class is given to test, so nothing would be measured",
            "set split.parts to drawn, or import the graph with test nodes",
        )
