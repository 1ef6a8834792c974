"""What can be told of a split and its features without training: pure functions from arrays to
checks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from taamctl.core import subnormals
from taamctl.core.paths import group
from taamctl.core.types import CSR, PARTS, Array, NodeGraph
from taamctl.features import compute as features
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.store.artefacts import Artefact
from taamctl.stream.induce import induce

ROUNDING = 1e-5  # of a row's largest value: what two orders of the same float32 sum may differ by


@dataclass(frozen=True)
class Check:
    """One line of an audit.

    Attributes:
        check: what was looked at: `split`, `duplicates`, `precompute`, `train`, `reads`, `budget`.
        subject: of what.
        verdict: `ok`, `warning`, `failed`, or `not run` where an earlier failure makes it
            meaningless.
        detail: what was found; where it failed, the culprit.
    """

    check: str
    subject: str
    verdict: str
    detail: str


@dataclass(frozen=True)
class SplitArrays:
    """A split artefact's arrays, by the names of the schema."""

    label: Array
    bounds: Array
    offset: Array
    orig_id: Array
    y: Array
    indptr: Array
    indices: Array

    @property
    def groups(self) -> Array:
        """Return the group (task * 3 + part) of every row."""
        return np.repeat(np.arange(len(self.offset) - 1), np.diff(self.offset))

    @property
    def edges(self) -> CSR:
        """Return the stored edges."""
        return CSR(self.indptr, self.indices, None, (len(self.orig_id), len(self.orig_id)))

    @property
    def in_train(self) -> Array:
        """Tell for every row whether it is a training node."""
        return np.asarray(self.groups % len(PARTS) == 0)


def read_split(artefact: Artefact) -> SplitArrays:
    """Read what an audit needs of a split artefact."""
    return SplitArrays(
        *(
            artefact.read(p)
            for p in (
                "classes/label",
                "stream/bounds",
                "stream/offset",
                "nodes/orig_id",
                "nodes/y",
                "edges/indptr",
                "edges/indices",
            )
        )
    )


def name_of(index: int) -> str:
    """Return how a group is called: `task 3, test`."""
    return f"task {index // len(PARTS)}, {PARTS[index % len(PARTS)]}"


def structure(
    split: SplitArrays,
    raw: NodeGraph,
    used: CSR,
    unlabelled_as: int | None,
    *,
    as_given: bool = False,
) -> list[Check]:
    """Check that parts share no node and no edge, and that labels fit; one check per law.

    Args:
        raw: the graph that was split. used: its edges as the split uses them.
        unlabelled_as: the label that unlabelled nodes may have.
        as_given: whether the parts are to be those that the graph states, where it states any.
    """
    laws: tuple[tuple[str, str, Callable[[], Iterator[str]]], ...] = (
        ("arrays", "offsets, labels and edges fit together", lambda: _misfits(split, raw)),
        ("nodes", "{nodes:,} nodes, each in one (task, part)", lambda: _shared_nodes(split)),
        ("classes", "{classes} classes, each in one task", lambda: _shared_classes(split)),
        (
            "labels",
            "every node has its own label, of a class of its task",
            lambda: _wrong_labels(split, raw, unlabelled_as),
        ),
        (
            "edges",
            "{edges:,} edges, both ends of each in one (task, part)",
            lambda: _crossing_edges(split),
        ),
        (
            "edges of the graph",
            "exactly the graph's edges inside every (task, part)",
            lambda: _foreign_edges(split, used),
        ),
    )
    if as_given and raw.given.part is not None:
        laws = (
            *laws,
            (
                "parts",
                "every node in the part that the graph states",
                lambda: _other_parts(split, raw),
            ),
        )
    sizes = {"nodes": len(split.orig_id), "classes": len(split.label), "edges": len(split.indices)}
    found: list[Check] = []
    for subject, right, look in laws:
        known = {c.subject for c in found if c.verdict == "failed"}
        if "arrays" in known or (subject == "edges of the graph" and known):
            found.append(Check("split", subject, "not run", "what it builds on is wrong"))
            continue
        culprit = next(look(), None)
        found.append(
            Check(
                "split",
                subject,
                "ok" if culprit is None else "failed",
                culprit or right.format(**sizes),
            )
        )
    return found


def _misfits(split: SplitArrays, raw: NodeGraph) -> Iterator[str]:
    rows, offset, bounds = len(split.orig_id), split.offset, split.bounds
    if (
        len(offset) != len(PARTS) * len(bounds) + 1
        or offset[0] != 0
        or offset[-1] != rows
        or (np.diff(offset) < 0).any()
    ):
        yield (
            f"stream/offset does not cut {rows} rows into {len(bounds)} tasks of {len(PARTS)} parts"
        )
    if len(split.y) != rows:
        yield f"nodes/y has {len(split.y)} labels for {rows} nodes"
    pointer = split.indptr
    if (
        len(pointer) != rows + 1
        or pointer[0] != 0
        or pointer[-1] != len(split.indices)
        or (np.diff(pointer) < 0).any()
    ):
        yield f"edges/indptr does not cut {len(split.indices)} edges into {rows} rows"
    for path, values, high in (
        ("nodes/orig_id", split.orig_id, raw.num_nodes),
        ("nodes/y", split.y, len(split.label)),
        ("edges/indices", split.indices, rows),
    ):
        wrong = np.flatnonzero((values < 0) | (values >= high))
        if len(wrong):
            yield f"{path} is {values[wrong[0]]} at {wrong[0]}, outside 0..{high - 1}"


def _shared_nodes(split: SplitArrays) -> Iterator[str]:
    order = np.argsort(split.orig_id, kind="stable")
    twice = np.flatnonzero(np.diff(split.orig_id[order]) == 0)
    groups = split.groups
    for at in twice[:1]:
        first, second = (name_of(int(groups[order[i]])) for i in (at, at + 1))
        yield (
            f"node {split.orig_id[order[at]]} is in ({first}) and in ({second}); {len(twice)} such"
        )


def _other_parts(split: SplitArrays, raw: NodeGraph) -> Iterator[str]:
    assert raw.given.part is not None
    groups, stated = split.groups, raw.given.part[split.orig_id]
    for row in np.flatnonzero(groups % len(PARTS) != stated)[:1]:
        said = PARTS[stated[row]] if stated[row] >= 0 else "in no part"
        yield (
            f"node {split.orig_id[row]} is in ({name_of(int(groups[row]))}), but the graph "
            f"states that it is {said}"
        )


def _shared_classes(split: SplitArrays) -> Iterator[str]:
    at = 0
    for t, (low, high) in enumerate(split.bounds.tolist()):
        if low != at or high <= low:
            yield f"task {t} has the classes {low}..{high - 1} but should start at {at}"
        at = high
    if at != len(split.label):
        yield f"the tasks have {at} classes, classes/label has {len(split.label)}"
    labels, counts = np.unique(split.label, return_counts=True)
    for label in labels[counts > 1][:1]:
        yield f"label {label} of the graph is {counts.max()} classes of the stream"


def _wrong_labels(split: SplitArrays, raw: NodeGraph, unlabelled_as: int | None) -> Iterator[str]:
    task = split.groups // len(PARTS)
    low, high = split.bounds[task, 0], split.bounds[task, 1]
    for row in np.flatnonzero((split.y < low) | (split.y >= high))[:1]:
        yield (
            f"node {split.orig_id[row]} in ({name_of(int(split.groups[row]))}) has class "
            f"{split.y[row]} of another task"
        )
    own, given = raw.labels[split.orig_id], split.label[split.y]
    allowed = (own == given) | (
        (own < 0) & (given == (-2 if unlabelled_as is None else unlabelled_as))
    )
    for row in np.flatnonzero(~allowed)[:1]:
        yield (
            f"node {split.orig_id[row]} has label {own[row]} in the graph but {given[row]} in "
            "the split"
        )


def _crossing_edges(split: SplitArrays) -> Iterator[str]:
    groups = split.groups
    target = np.repeat(np.arange(len(split.orig_id)), np.diff(split.indptr))
    wrong = np.flatnonzero(groups[target] != groups[split.indices])
    for at in wrong[:1]:
        ends = [
            (int(split.orig_id[r]), name_of(int(groups[r])))
            for r in (split.indices[at], target[at])
        ]
        yield (
            f"an edge joins node {ends[0][0]} ({ends[0][1]}) and node {ends[1][0]} "
            f"({ends[1][1]}); {len(wrong)} such"
        )


def _foreign_edges(split: SplitArrays, used: CSR) -> Iterator[str]:
    wanted = induce(used, split.orig_id, split.offset)
    if np.array_equal(wanted.indptr, split.indptr) and np.array_equal(
        wanted.indices, split.indices
    ):
        return
    rows = len(split.orig_id)
    keys = [
        np.repeat(np.arange(rows, dtype=np.int64), np.diff(e.indptr)) * rows + e.indices
        for e in (split.edges, wanted)
    ]
    more, less = np.setdiff1d(keys[0], keys[1]), np.setdiff1d(keys[1], keys[0])
    target, source = divmod(int((more if len(more) else less if len(less) else keys[0])[0]), rows)
    yield (
        f"edge {split.orig_id[source]} -> {split.orig_id[target]} is "
        f"{'not in the graph' if len(more) else 'missing or out of order'}; {len(more)} foreign, "
        f"{len(less)} missing"
    )


def duplicates(split: SplitArrays, raw: NodeGraph) -> Check:
    """Count val and test nodes whose raw features and label equal a training node's: easy to
    predict, but no leak of a part.
    """
    rows = [
        _row_hash(raw.features, node, label)
        for node, label in zip(split.orig_id.tolist(), split.y.tolist(), strict=True)
    ]
    train = split.in_train
    known = {
        h: node
        for h, node, t in zip(rows, split.orig_id.tolist(), train.tolist(), strict=True)
        if t
    }
    same = [
        (node, known[h])
        for h, node, t in zip(rows, split.orig_id.tolist(), train.tolist(), strict=True)
        if not t and h in known
    ]
    asked = int((~train).sum())
    if not same:
        return Check(
            "duplicates",
            "raw features and label",
            "ok",
            f"none of {asked:,} val and test nodes equals a training node",
        )
    return Check(
        "duplicates",
        "raw features and label",
        "warning",
        f"{len(same):,} of {asked:,} val and test nodes ({100 * len(same) / asked:.1f} %) equal a "
        f"training node, such as node {same[0][0]} and node {same[0][1]}",
    )


def _row_hash(x: Array | CSR, node: int, label: int) -> int:
    if isinstance(x, CSR):
        a, b = int(x.indptr[node]), int(x.indptr[node + 1])
        values = b"" if x.data is None else x.data[a:b].tobytes()
        return hash((x.indices[a:b].tobytes(), values, label))
    return hash((x[node].tobytes(), label))


@subnormals.flushed()  # as precompute
def train_features(
    split: SplitArrays,
    raw: NodeGraph,
    used: CSR,
    stored: Artefact,
    params: PrecomputeParams,
    norm: str,
) -> Check:
    """Compute the training groups' features anew in a variant without any other node, and compare
    them with the stored ones.

    Args:
        used: the graph's edges as the split uses them. norm: the resolved feature normalisation.
    """
    sizes = np.diff(split.offset) * (np.arange(len(split.offset) - 1) % len(PARTS) == 0)
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    nodes, y = split.orig_id[split.in_train], split.y[split.in_train]
    alone = features.compute(
        raw.features,
        nodes,
        offset,
        induce(used, nodes, offset),
        dataclasses.replace(params, backend="scipy"),
        norm,
    )
    worst, arrays = 0.0, 0
    for g, (low, high) in enumerate(pairwise(offset.tolist())):
        if g % len(PARTS):
            continue
        wanted = {"orig_id": nodes[low:high], "y": y[low:high], **alone.group(g, params)}
        for name, right in wanted.items():
            path = f"{group(g // len(PARTS), 'train')}/{name}"
            off = _distance(stored.read(path), np.asarray(right))
            if off > 1:
                return Check(
                    "precompute",
                    "train groups alone",
                    "failed",
                    f"{path} is not what the training nodes and the edges between them give",
                )
            worst, arrays = max(worst, off), arrays + 1
    return Check(
        "precompute",
        "train groups alone",
        "ok",
        f"{arrays} arrays follow from training nodes and the edges between them"
        f"{' (to rounding)' if worst else ''}",
    )


def _distance(stored: Array, wanted: Array) -> float:
    """Return how far two arrays are apart in units of what rounding allows; above 1 they differ."""
    if stored.shape != wanted.shape:
        return np.inf
    if stored.dtype.kind != "f":
        return 0.0 if np.array_equal(stored, wanted) else np.inf
    if not stored.size:
        return 0.0
    size = np.abs(wanted).astype(np.float64)
    row = size.max(axis=-1, keepdims=True) if size.ndim > 1 else size
    away = np.abs(stored.astype(np.float64) - wanted)
    allowed = ROUNDING * np.maximum(row, 0.01 * size.max())
    far = np.divide(away, allowed, out=np.where(away > 0, np.inf, 0.0), where=allowed > 0)
    return float(np.nan_to_num(far, nan=np.inf).max())
