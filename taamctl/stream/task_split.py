"""From a whole graph to the split: canonical form, task stream, parts and induced edges."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.plain_values import canonical as as_plain
from taamctl.core.types import CSR, Array, NodeGraph, TaskStream
from taamctl.graph import canonical
from taamctl.params.split_params import SplitParams
from taamctl.stream.induce import account, induce, induce_mixed, message_edges
from taamctl.stream.node_parts import group_nodes, rule
from taamctl.stream.order import Dropped, build_stream


@dataclass(frozen=True)
class Facts:
    """What the usual reader of a data set does to it, from its META."""

    directed: bool
    unlabelled_as: int | None


@dataclass(frozen=True)
class Split:
    """The outcome of `make_split`; arrays as in the `split` artefact.

    Attributes:
        label_sha256: hash of the label vector in the node order used: the split depends on that
            order.
        edges_before: stored directed entries of the whole graph, and after symmetrising.
        unlabelled: how many nodes the raw data leaves unlabelled, and what became of them.
        stated: what the graph itself stated and the split follows, `tasks` or `parts`, with a count
            of labelled nodes of the stream's classes that have no part (or no time, where parts go
            by time); empty where all was drawn.
    """

    stream: TaskStream
    dropped: tuple[Dropped, ...]
    orig_id: Array
    y: Array
    offset: Array
    edges: CSR
    mixed: CSR
    table: Array
    counts: Array
    label_sha256: str
    edges_before: tuple[int, int]
    unlabelled: tuple[int, str]
    stated: dict[str, Plain]

    def attributes(self) -> dict[str, str]:
        """Return the root attributes of the `split` artefact, by name."""
        account = {
            "edges_stored": self.edges_before[0],
            "edges_used": self.edges_before[1],
            "dropped": as_plain(self.dropped),
            "unlabelled": self.unlabelled,
            **self.stated,
        }
        return {"label_sha256": self.label_sha256, "account": json.dumps(account)}

    def arrays(self) -> dict[str, object]:
        """Return the arrays of the `split` artefact, by path."""
        return {
            "classes/label": self.stream.labels,
            "classes/name": self.stream.class_names,
            "classes/count": self.counts,
            "stream/bounds": [(task.low, task.high) for task in self.stream.tasks],
            "stream/offset": self.offset,
            "nodes/orig_id": self.orig_id,
            "nodes/y": self.y,
            "edges/indptr": self.edges.indptr,
            "edges/indices": self.edges.indices,
            "mixed/indptr": self.mixed.indptr,
            "mixed/indices": self.mixed.indices,
            "account/table": self.table,
        }


def _labels(graph: NodeGraph, facts: Facts, params: SplitParams) -> Array:
    """Return the labels with the rule for unlabelled nodes applied."""
    if params.unlabelled == "as_released" and facts.unlabelled_as is not None:
        return np.where(graph.labels < 0, facts.unlabelled_as, graph.labels)
    return graph.labels


def make_split(raw: NodeGraph, facts: Facts, params: SplitParams) -> Split:
    """Split a graph into tasks and parts.

    Source: TAAM (2026), released preparation code; `symmetrize: as_released` leaves only ogbn-arxiv
    directed, as that code does.
    """
    unlabelled = int((raw.labels < 0).sum())
    labels = _labels(raw, facts, params)
    stream, dropped = build_stream(labels, raw.class_names, params, raw.given)
    order = (
        canonical.reader_order(raw.adjacency)
        if params.node_order == "reader"
        else np.arange(raw.num_nodes)
    )
    orig_id, y, offset = group_nodes(labels, order, stream, params, raw.given)
    stored = raw.adjacency.nnz
    adjacency = message_edges(raw.adjacency, params.symmetrize, facts.directed)
    edges = induce(adjacency, orig_id, offset)
    part_of_row = np.repeat(np.arange(len(offset) - 1) % 3, np.diff(offset))
    counts = np.zeros((stream.num_classes, 3), np.int64)
    np.add.at(counts, (y, part_of_row), 1)
    kept = params.unlabelled == "as_released" and facts.unlabelled_as is not None
    fate = f"taken as {raw.class_names[facts.unlabelled_as or 0]}" if kept else "left out"
    return Split(
        stream,
        dropped,
        orig_id,
        y,
        offset,
        edges,
        induce_mixed(adjacency, orig_id, offset),
        account(edges, offset),
        counts,
        hashlib.sha256(labels[order].astype("<i8").tobytes()).hexdigest(),
        (stored, adjacency.nnz),
        (unlabelled, fate),
        _stated(raw, labels, stream, params, len(orig_id)),
    )


def _stated(
    raw: NodeGraph, labels: Array, stream: TaskStream, params: SplitParams, used: int
) -> dict[str, Plain]:
    """Return what the split takes from the graph itself, and how many nodes that leaves out."""
    how = rule(params, raw.given)
    out: dict[str, Plain] = {}
    if params.tasks == "as_given" and raw.given.arrival is not None:
        out["tasks"] = "given"
    if how != "drawn":
        out |= {"parts": how, "left_out": int(np.isin(labels, stream.labels).sum()) - used}
    return out
