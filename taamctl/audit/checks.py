"""What can be told of a split and its features without training: pure functions from arrays to
checks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from taamctl.core import subnormals
from taamctl.core.paths import group
from taamctl.core.row_codes import row_codes
from taamctl.core.types import CSR, PARTS, Array, NodeGraph
from taamctl.features import group_features as features
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.store.artefacts import Artefact
from taamctl.stream.induce import induce

ROUNDING = 1e-5  # of a row's largest value: what two orders of the same float32 sum may differ by
BASIS = "what it builds on is wrong"


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


def judged(check: str, subject: str, culprit: str | None, right: str) -> Check:
    """Return a check that failed where there is a culprit, and is right else."""
    return Check(check, subject, "failed" if culprit else "ok", culprit or right)


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


FOLDERS = ("classes", "stream", "stream", "nodes", "nodes", "edges", "edges")


def read_split(artefact: Artefact) -> SplitArrays:
    """Read what an audit needs of a split artefact."""
    names = (field.name for field in dataclasses.fields(SplitArrays))
    paths = (f"{folder}/{name}" for folder, name in zip(FOLDERS, names, strict=True))
    return SplitArrays(*(artefact.read(path) for path in paths))


@dataclass(frozen=True)
class Evidence:
    """What the laws of a split are about.

    Attributes:
        raw: the graph that was split. used: its edges as the split uses them.
        unlabelled_as: the label that unlabelled nodes may have.
    """

    split: SplitArrays
    raw: NodeGraph
    used: CSR
    unlabelled_as: int | None

    def place(self, row: int) -> str:
        """Return where a row is: `task 3, test`."""
        index = int(self.split.groups[row])
        return f"task {index // len(PARTS) + 1}, {PARTS[index % len(PARTS)]}"


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
        as_given: whether the parts are to be those that the graph states, where it states any.
    """
    evidence = Evidence(split, raw, used, unlabelled_as)
    laws = LAWS if as_given and raw.given.part is not None else LAWS[:-1]
    sizes = {"nodes": len(split.orig_id), "classes": len(split.label), "edges": len(split.indices)}
    failed: set[str] = set()
    found = []
    for subject, right, culprits in laws:
        if "arrays" in failed or (subject == "edges of the graph" and failed):
            found.append(Check("split", subject, "not run", BASIS))
            continue
        culprit = next(culprits(evidence), None)
        if culprit is not None:
            failed.add(subject)
        found.append(judged("split", subject, culprit, right.format(**sizes)))
    return found


def _cuts(pointer: Array, pieces: int, rows: int) -> bool:
    """Tell whether a pointer cuts so many rows into so many pieces."""
    whole = len(pointer) == pieces + 1 and pointer[0] == 0 and pointer[-1] == rows
    return bool(whole and (np.diff(pointer) >= 0).all())


def _misfits(e: Evidence) -> Iterator[str]:
    split = e.split
    rows, tasks, edges = len(split.orig_id), len(split.bounds), len(split.indices)
    if not _cuts(split.offset, len(PARTS) * tasks, rows):
        yield f"stream/offset does not cut {rows} rows into {tasks} tasks of {len(PARTS)} parts"
    if len(split.y) != rows:
        yield f"nodes/y has {len(split.y)} labels for {rows} nodes"
    if not _cuts(split.indptr, rows, edges):
        yield f"edges/indptr does not cut {edges} edges into {rows} rows"
    for path, values, high in (
        ("nodes/orig_id", split.orig_id, e.raw.num_nodes),
        ("nodes/y", split.y, len(split.label)),
        ("edges/indices", split.indices, rows),
    ):
        for at in np.flatnonzero((values < 0) | (values >= high))[:1]:
            yield f"{path} is {values[at]} at {at}, outside 0..{high - 1}"


def _shared_nodes(e: Evidence) -> Iterator[str]:
    ids = e.split.orig_id
    order = np.argsort(ids, kind="stable")
    twice = np.flatnonzero(np.diff(ids[order]) == 0)
    for at in twice[:1]:
        first, second = order[at], order[at + 1]
        yield (
            f"node {ids[first]} is in ({e.place(first)}) and in ({e.place(second)}); "
            f"{len(twice)} such"
        )


def _shared_classes(e: Evidence) -> Iterator[str]:
    at = 0
    for t, (low, high) in enumerate(e.split.bounds.tolist()):
        if low != at or high <= low:
            yield f"task {t + 1} has the classes {low}..{high - 1} but should start at {at}"
        at = high
    if at != len(e.split.label):
        yield f"the tasks have {at} classes, classes/label has {len(e.split.label)}"
    labels, counts = np.unique(e.split.label, return_counts=True)
    for label in labels[counts > 1][:1]:
        yield f"label {label} of the graph is {counts.max()} classes of the stream"


def _wrong_labels(e: Evidence) -> Iterator[str]:
    split = e.split
    low, high = split.bounds[split.groups // len(PARTS)].T
    for row in np.flatnonzero((split.y < low) | (split.y >= high))[:1]:
        yield (
            f"node {split.orig_id[row]} in ({e.place(row)}) has class {split.y[row]} of another "
            "task"
        )
    own, stored = e.raw.labels[split.orig_id], split.label[split.y]
    allowed = own == stored
    if e.unlabelled_as is not None:
        allowed |= (own < 0) & (stored == e.unlabelled_as)
    for row in np.flatnonzero(~allowed)[:1]:
        yield (
            f"node {split.orig_id[row]} has label {own[row]} in the graph but {stored[row]} in "
            "the split"
        )


def _crossing_edges(e: Evidence) -> Iterator[str]:
    split, groups = e.split, e.split.groups
    target = np.repeat(np.arange(len(split.orig_id)), np.diff(split.indptr))
    wrong = np.flatnonzero(groups[target] != groups[split.indices])
    for at in wrong[:1]:
        ends = (split.indices[at], target[at])
        names = " and ".join(f"node {split.orig_id[row]} ({e.place(row)})" for row in ends)
        yield f"an edge joins {names}; {len(wrong)} such"


def _foreign_edges(e: Evidence) -> Iterator[str]:
    split, ids = e.split, e.split.orig_id
    wanted = induce(e.used, ids, split.offset)
    if np.array_equal(wanted.indptr, split.indptr) and np.array_equal(
        wanted.indices, split.indices
    ):
        return
    stored, right = (
        np.repeat(np.arange(len(ids), dtype=np.int64), np.diff(edges.indptr)) * len(ids)
        + edges.indices
        for edges in (split.edges, wanted)
    )
    more, less = np.setdiff1d(stored, right), np.setdiff1d(right, stored)
    what = "not in the graph" if len(more) else "missing or out of order"
    target, source = divmod(int(np.concatenate([more, less, stored])[0]), len(ids))
    yield (
        f"edge {ids[source]} -> {ids[target]} is {what}; {len(more)} foreign, {len(less)} missing"
    )


def _other_parts(e: Evidence) -> Iterator[str]:
    assert e.raw.given.part is not None
    stated = e.raw.given.part[e.split.orig_id]
    for row in np.flatnonzero(e.split.groups % len(PARTS) != stated)[:1]:
        part = PARTS[stated[row]] if stated[row] >= 0 else "in no part"
        yield (
            f"node {e.split.orig_id[row]} is in ({e.place(row)}), but the graph states that it is "
            f"{part}"
        )


# what is looked at, what is said where it is right, what names the culprits
LAWS: tuple[tuple[str, str, Callable[[Evidence], Iterator[str]]], ...] = (
    ("arrays", "offsets, labels and edges fit together", _misfits),
    ("nodes", "{nodes:,} nodes, each in one (task, part)", _shared_nodes),
    ("classes", "{classes} classes, each in one task", _shared_classes),
    ("labels", "every node has its own label, of a class of its task", _wrong_labels),
    ("edges", "{edges:,} edges, both ends of each in one (task, part)", _crossing_edges),
    ("edges of the graph", "exactly the graph's edges inside every (task, part)", _foreign_edges),
    ("parts", "every node in the part that the graph states", _other_parts),
)


def duplicates(split: SplitArrays, raw: NodeGraph) -> Check:
    """Count val and test nodes whose raw features and label equal a training node's: easy to
    predict, but no leak of a part.
    """
    keys = ["code", "label"]
    codes = row_codes(raw.features)[split.orig_id]
    nodes = pd.DataFrame({"code": codes, "label": split.y, "node": split.orig_id})
    train = nodes[split.in_train].drop_duplicates(keys, keep="last")
    others = nodes[~split.in_train]
    same = others.merge(train, on=keys, suffixes=("", "_train"))
    what, all_others = (
        ("duplicates", "raw features and label"),
        f"{len(others):,} val and test nodes",
    )
    if same.empty:
        return Check(*what, "ok", f"none of {all_others} equals a training node")
    share = 100 * len(same) / len(others)
    first = same.iloc[0]
    detail = (
        f"{len(same):,} of {all_others} ({share:.1f} %) equal a training node, such as node "
        f"{first['node']} and node {first['node_train']}"
    )
    return Check(*what, "warning", detail)


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
    what = ("precompute", "train groups alone")
    training = np.arange(len(split.offset) - 1) % len(PARTS) == 0
    offset = np.concatenate([[0], np.cumsum(np.diff(split.offset) * training)]).astype(np.int64)
    nodes, y = split.orig_id[split.in_train], split.y[split.in_train]
    by_scipy = dataclasses.replace(params, backend="scipy")
    edges = induce(used, nodes, offset)
    alone = features.compute_all(raw.features, nodes, offset, edges, by_scipy, norm)
    distances = []
    for g, (low, high) in enumerate(pairwise(offset.tolist())):
        if not training[g]:
            continue
        wanted = {"orig_id": nodes[low:high], "y": y[low:high], **alone[g].stored(params)}
        for name, right in wanted.items():
            path = f"{group(g // len(PARTS), 'train')}/{name}"
            distances.append(_distance(stored.read(path), np.asarray(right)))
            if distances[-1] > 1:
                culprit = "is not what the training nodes and the edges between them give"
                return Check(*what, "failed", f"{path} {culprit}")
    rounded = " (to rounding)" if max(distances) else ""
    return Check(
        *what,
        "ok",
        f"{len(distances)} arrays follow from training nodes and the edges between them{rounded}",
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
