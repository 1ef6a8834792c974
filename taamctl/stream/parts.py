"""Split every class into train, val and test, and group the nodes by (task, part)."""

from __future__ import annotations

import math

import numpy as np

from taamctl.core.types import Array, TaskStream
from taamctl.stream.params import SplitParams


def split_class(ids: Array, params: SplitParams) -> tuple[Array, Array, Array]:
    """Split one class's node ids, given in ascending order.

    Draws exactly what two calls of scikit-learn's `train_test_split` with `random_state=seed` draw: first
    n_train = max(1, int(n (1 - (val + test)))) nodes, then val and test from the rest, val rounded down.
    Fewer than 3 nodes: the first is train, the second val, the rest test.

    Source: the released split routine of TAAM (2026); scikit-learn is the independent reference in the tests.
    """
    n = len(ids)
    if n < 3:
        return ids[:1], ids[1:2], ids[2:]
    n_train = min(n - 1, max(1, int(n * (1 - (params.val + params.test)))))
    rest_of = n - n_train
    order = np.random.RandomState(params.seed).permutation(n)
    rest, train = ids[order[:rest_of]], ids[order[rest_of:rest_of + n_train]]
    share = params.test / (params.val + params.test)
    n_test = min(rest_of, math.ceil(share * rest_of))
    order = np.random.RandomState(params.seed).permutation(rest_of)
    test, val = rest[order[:n_test]], rest[order[n_test:]]
    return train, val, test


def group_nodes(labels: Array, order: Array, stream: TaskStream, params: SplitParams) -> tuple[Array, Array, Array]:
    """Return the nodes of every (task, part), tasks first, node ids ascending inside a group.

    Args:
        labels: [N] int64 data-set labels.
        order: [N] the node order that the split is drawn in; the ids returned are node ids, whatever it is.

    Returns:
        orig_id [M] int64, y [M] int64 stream class ids, offset [T*3 + 1] int64 group boundaries.
    """
    groups: list[Array] = []
    stream_id = np.full(max(stream.labels) + 2, -1, np.int64)
    stream_id[list(stream.labels)] = np.arange(stream.num_classes)
    for task in stream.tasks:
        pieces = [split_class(order[labels[order] == stream.labels[c]], params) for c in task.classes]
        groups += [np.sort(np.concatenate(part)) for part in zip(*pieces, strict=True)]
    orig_id = np.concatenate(groups).astype(np.int64)
    offset = np.concatenate([[0], np.cumsum([len(g) for g in groups])]).astype(np.int64)
    return orig_id, stream_id[labels[orig_id]], offset
