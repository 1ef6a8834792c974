"""What is written of a user's own graph."""

from __future__ import annotations

from taamctl.core.types import CSR, NodeGraph
from taamctl.store.artefact_writer import Writer

GIVEN = ("arrival", "part", "time", "node_id")
OUTSIDE = ("row", "name", "into")


def fill(writer: Writer, graph: NodeGraph, directed: bool) -> None:
    """Write the arrays and attributes of a graph."""
    writer.attribute("name", graph.name)
    writer.attribute("directed", directed)
    writer.attribute("num_features", graph.num_features)
    writer.put("adjacency/indptr", graph.adjacency.indptr)
    writer.put("adjacency/indices", graph.adjacency.indices)
    x = graph.features
    if isinstance(x, CSR):
        writer.put("features/indptr", x.indptr)
        writer.put("features/indices", x.indices)
        if x.data is not None:
            writer.put("features/data", x.data)
    else:
        writer.put("features/dense", x)
    writer.attribute("features_named", "yes" if graph.feature_names else "no")
    if graph.feature_names:
        writer.put("features/name", graph.feature_names)
    writer.put("labels", graph.labels)
    writer.put("classes/name", graph.class_names)
    for name in GIVEN:
        values = getattr(graph.given, name)
        if values is not None:
            writer.put(f"given/{name}", values)
    if graph.outside is not None:
        for name in OUTSIDE:
            writer.put(f"outside/{name}", getattr(graph.outside, name))
    if graph.notes:
        writer.put("notes", graph.notes)
