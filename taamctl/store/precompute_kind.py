"""The artefact of `precompute`."""

from __future__ import annotations

from taamctl.core.versions import unchanged
from taamctl.store.schema_entries import Entry, Kind

GROUP = "tasks/{task}/{part}/"

PRECOMPUTE = Kind(
    "precompute",
    3,
    "propagated features of every (task, part), each from its own induced subgraph alone",
    {
        "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
        "classes/name": Entry("str", ("C",), "class names, in stream order"),
        "features/size": Entry(
            "float32",
            ("F",),
            "what every feature was divided by, where each is by its own size",
            optional=True,
            since=3,
        ),
        GROUP + "orig_id": Entry("int64", ("N",), "node id in the data set's documented order"),
        GROUP + "y": Entry("int64", ("N",), "stream class id"),
        GROUP + "deg": Entry("float32", ("N",), "in-degree with the added self-loop"),
        GROUP + "H": Entry("float32", ("N", "F"), "SGC features H = S^k X"),
        GROUP + "spread": Entry("float32", ("N",), "S^k 1: how much mass a node receives"),
        GROUP + "hop_mean": Entry(
            "float32",
            ("J", "F"),
            "mean over the nodes of S^j X, j = 0..max_hop: every AMP profile follows",
        ),
        GROUP + "ls_mean": Entry(
            "float32",
            ("2", "F"),
            "Laplacian-smoothing profile; row 0 with the trailing D^-1/2, row 1 without",
        ),
        GROUP + "x": Entry(
            "float32",
            ("N", "F"),
            "raw features X, where at least half of the group's values are not 0",
            optional=True,
        ),
        GROUP + "x_indptr": Entry(
            "int64", ("N+1",), "X as CSR, where more are 0: row pointer", optional=True
        ),
        GROUP + "x_indices": Entry("int32", ("nnz",), "X as CSR: feature ids", optional=True),
        GROUP + "x_data": Entry("float32", ("nnz",), "X as CSR: values", optional=True),
        GROUP + "indptr": Entry(
            "int64",
            ("N+1",),
            "edges inside the group, self-loops added: row pointer",
            optional=True,
        ),
        GROUP + "indices": Entry(
            "int32",
            ("E",),
            "edges inside the group: sending nodes, numbered inside the group",
            optional=True,
        ),
    },
    steps={
        1: unchanged,  # 2 may hold x as a dense matrix
        2: unchanged,  # 3 may hold the sizes of the features
    },
)
