"""The artefact of a graph of one's own."""

from __future__ import annotations

from taamctl.core.plain_values import Plain
from taamctl.core.versions import unchanged
from taamctl.store.schema_entries import Attributes, Entry, Kind

NAMES_NOT_KEPT = "not kept"


def _names_stated(said: Attributes) -> Attributes:
    """Say in a graph whether its features are named, or whether names were not kept then."""
    answers: dict[Plain, str] = {True: "yes", False: "no"}
    return {**said, "features_named": answers.get(said.get("features_named"), NAMES_NOT_KEPT)}


GRAPH = Kind(
    "graph",
    3,
    "a graph of one's own, `data/<name>.h5`: what `split` and `precompute` read",
    {
        "adjacency/indptr": Entry(
            "int64", ("N+1",), "edges as imported: row v holds the nodes u with an edge u -> v"
        ),
        "adjacency/indices": Entry(
            "int32", ("E",), "sending nodes, increasing inside a row, none twice"
        ),
        "features/dense": Entry(
            "float32", ("N", "F"), "features, where they are dense", optional=True
        ),
        "features/indptr": Entry("int64", ("N+1",), "features as CSR: row pointer", optional=True),
        "features/indices": Entry("int32", ("nnz",), "features as CSR: feature ids", optional=True),
        "features/data": Entry(
            "float32",
            ("nnz",),
            "features as CSR: values; left out where all are 1",
            optional=True,
        ),
        "features/name": Entry(
            "str", ("F",), "names of the features, by which a bank matches them", optional=True
        ),
        "labels": Entry("int64", ("N",), "class id in 0..C-1; -1: unlabelled"),
        "classes/name": Entry("str", ("C",), "class names, in label order"),
        "given/arrival": Entry(
            "int64", ("C",), "the task that every class arrives with", optional=True
        ),
        "given/part": Entry(
            "int8", ("N",), "0 train, 1 val, 2 test; -1: none given", optional=True
        ),
        "given/time": Entry("float64", ("N",), "when a node appeared; NaN: unknown", optional=True),
        "given/node_id": Entry("str", ("N",), "the nodes' names in the source", optional=True),
        "outside/row": Entry(
            "int64",
            ("K",),
            "edges to nodes of another graph: the node of this one (since version 3)",
            optional=True,
        ),
        "outside/name": Entry(
            "str", ("K",), "the name of the other node, in its own graph", optional=True
        ),
        "outside/into": Entry(
            "int8", ("K",), "1: the edge ends at the node of this graph", optional=True
        ),
        "notes": Entry(
            "str", ("note",), "what importing had to say about the raw data", optional=True
        ),
    },
    steps={
        1: _names_stated,
        2: unchanged,  # 3 may hold edges to nodes of another graph
    },
)
