"""From a whole graph to the split: canonical form, task stream, parts and induced edges."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from taamctl.core.data_set import Meta
from taamctl.core.edge_rows import GraphRows, in_rows
from taamctl.core.plain_values import Plain
from taamctl.core.plain_values import canonical as as_plain
from taamctl.core.types import CSR, Array, NodeGraph, TaskStream
from taamctl.graph import canonical
from taamctl.params.split_params import SplitParams
from taamctl.stream.induce import account, is_used_both_ways
from taamctl.stream.kept_edges import kept_edges
from taamctl.stream.node_parts import group_nodes, rule
from taamctl.stream.order import Dropped, build_stream


@dataclass(frozen=True)
class Facts:
    """What the usual reader of a data set does to it, from its META."""

    directed: bool
    unlabelled_as: int | None
    reordered: bool = True


def facts_of(meta: Meta) -> Facts:
    """Return what a data set states of its usual reader."""
    return Facts(meta.directed, meta.unlabelled_as, meta.reordered)


@dataclass(frozen=True)
class Split:
    """The outcome of `make_split`; arrays as in the `split` artefact.

    Attributes:
        label_sha256: hash of the label vector in the node order used: the split depends on it.
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


def make_split(raw: NodeGraph, facts: Facts, params: SplitParams) -> Split:
    """Split a graph in memory into tasks and parts."""
    return split_rows(in_rows(raw), facts, params)


def split_rows(raw: GraphRows, facts: Facts, params: SplitParams) -> Split:
    """Split a graph into tasks and parts; its edges are read a range of rows at a time, unless the
    nodes are to stand in the order of a reader.

    Source: TAAM (2026), released preparation code; `symmetrize: as_released` leaves only ogbn-arxiv
    directed, as that code does.
    """
    labels = raw.labels
    fate = "left out"
    if params.unlabelled == "as_released" and facts.unlabelled_as is not None:
        labels = np.where(labels < 0, facts.unlabelled_as, labels)
        fate = f"taken as {raw.class_names[facts.unlabelled_as]}"
    stream, dropped = build_stream(labels, raw.class_names, params, raw.given)
    order = np.arange(raw.edges.num_nodes)
    if params.node_order == "reader" and facts.reordered:
        order = canonical.reader_order(raw.edges.whole())
    orig_id, y, offset = group_nodes(labels, order, stream, params, raw.given)
    both_ways = is_used_both_ways(params.symmetrize, facts.directed)
    kept = kept_edges(raw.edges, orig_id, offset, both_ways=both_ways)
    part_of_row = np.repeat(np.arange(len(offset) - 1) % 3, np.diff(offset))
    counts = np.zeros((stream.num_classes, 3), np.int64)
    np.add.at(counts, (y, part_of_row), 1)
    stated: dict[str, str | int] = {}
    if params.tasks == "as_given" and raw.given.arrival is not None:
        stated["tasks"] = "given"
    parts = rule(params, raw.given)
    if parts != "drawn":
        left_out = int(np.isin(labels, stream.labels).sum()) - len(orig_id)
        stated |= {"parts": parts, "left_out": left_out}
    return Split(
        stream=stream,
        dropped=dropped,
        orig_id=orig_id,
        y=y,
        offset=offset,
        edges=kept.edges,
        mixed=kept.mixed,
        table=account(kept.edges, offset),
        counts=counts,
        label_sha256=hashlib.sha256(labels[order].astype("<i8").tobytes()).hexdigest(),
        edges_before=(raw.edges.nnz, kept.used),
        unlabelled=(int((raw.labels < 0).sum()), fate),
        stated=stated,
    )
