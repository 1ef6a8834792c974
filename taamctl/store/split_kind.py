"""The artefact of `split`."""

from __future__ import annotations

from taamctl.core.versions import unchanged
from taamctl.store.schema_entries import Entry, Kind

SPLIT = Kind(
    "split",
    3,
    "task stream, parts and the edges inside every (task, part)",
    {
        "classes/label": Entry(
            "int64", ("C",), "the data set's label id of every class, in stream order"
        ),
        "classes/name": Entry("str", ("C",), "class names, in stream order"),
        "classes/count": Entry("int64", ("C", "part"), "nodes per class in train, val, test"),
        "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
        "stream/offset": Entry(
            "int64",
            ("T*3+1",),
            "row range of every (task, part), tasks first, in one grouped numbering",
        ),
        "nodes/orig_id": Entry(
            "int64",
            ("N",),
            "node id in the data set's documented order; rows grouped by (task, part)",
        ),
        "nodes/y": Entry("int64", ("N",), "stream class id"),
        "edges/indptr": Entry(
            "int64",
            ("N+1",),
            "block-diagonal adjacency: row v holds the nodes that send to v, no self-loops "
            "added yet",
        ),
        "edges/indices": Entry("int32", ("E",), "sending nodes, in the grouped numbering"),
        "mixed/indptr": Entry(
            "int64",
            ("N+1",),
            "edges inside all tasks' val nodes, and inside all tasks' test nodes: the mixed "
            "query graphs; training rows are empty",
            since=2,
        ),
        "mixed/indices": Entry("int32", ("E",), "sending nodes, in the grouped numbering", since=2),
        "account/table": Entry(
            "int64",
            ("T*3", "4"),
            "per (task, part): nodes, edges kept, self-loops among them, isolated nodes",
        ),
    },
    later_attributes={"features_sha256": 3},
    steps={
        1: unchanged,  # 2 added the mixed query graphs
        2: unchanged,  # 3 added the hash of the features alone
    },
)
