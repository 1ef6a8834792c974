"""A user's own graph, brought in once and kept as the artefact `data/NAME.h5`; found by its name
like any other data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from taamctl.core import registry
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.datasets import _graph_file, _graph_rows
from taamctl.datasets._graph_file import MADE_BY, opened
from taamctl.datasets._graph_fill import GIVEN, fill
from taamctl.datasets._meta import Meta
from taamctl.store import artefact_writer, artefacts, atomic_files
from taamctl.store.graph_kind import GRAPH, NAMES_NOT_KEPT

__all__ = ["MADE_BY", "opened"]


def write(
    path: Path,
    graph: NodeGraph,
    source: Mapping[str, Any],
    directed: bool = False,
    command: str = "",
) -> None:
    """Write a graph as `data/NAME.h5`, whole or not at all; equal graphs give equal bytes.

    Args:
        path: where to; its stem is the data set's name.
        graph: the graph; its own name is kept for `taamctl inspect` only.
        source: what it was made from, JSON-ready; `licence`, `citation`, `homepage` are shown.
        directed: use the edges as directed where `split.symmetrize` is `as_released`.
        command: that makes it again, for the record beside it.

    Raises:
        TaamctlError: no name for a data set, or one that is taken; the folder cannot be written.
    """
    registry.refuse_taken("taamctl.datasets", path.stem)
    made_from = {"source": atomic_files.strict(dict(source)), "directed": directed}
    _graph_file.forget(path)
    artefact_writer.create(path, GRAPH, made_from, lambda writer: fill(writer, graph, directed))
    _graph_file.keep(path, command)


def read(path: Path) -> NodeGraph:
    """Return the graph of `data/NAME.h5`, every array checked against its checksum; it is called
    NAME, whatever it was once.

    Raises:
        TaamctlError: missing, damaged, unfinished, or no imported graph.
    """
    with opened(path) as file:
        indptr, width = file.read("adjacency/indptr"), int(file.attribute("num_features"))
        adjacency = CSR(
            indptr, file.read("adjacency/indices"), None, (len(indptr) - 1, len(indptr) - 1)
        )
        if file.has("features/dense"):
            features: Any = file.read("features/dense")
        else:
            data = file.read("features/data") if file.has("features/data") else None
            features = CSR(
                file.read("features/indptr"),
                file.read("features/indices"),
                data,
                (len(indptr) - 1, width),
            )
        given = Given(
            **{name: file.read(f"given/{name}") for name in GIVEN if file.has(f"given/{name}")}
        )
        notes = tuple(file.read("notes").tolist()) if file.has("notes") else ()
        labels, classes = file.read("labels"), tuple(file.read("classes/name").tolist())
        return NodeGraph(
            path.stem,
            adjacency,
            features,
            labels,
            classes,
            notes,
            given,
            feature_names(file),
            outside(file),
        )


def from_before_names(file: artefacts.Artefact) -> bool:
    """Tell whether an opened graph was written before names of features were kept."""
    return bool(file.attribute("features_named") == NAMES_NOT_KEPT)


def feature_names(file: artefacts.Artefact) -> tuple[str, ...]:
    """Return the names of the features of an opened graph; empty in a file from before they were
    kept, or from plain arrays.
    """
    return tuple(file.read("features/name").tolist()) if file.has("features/name") else ()


def outside(file: artefacts.Artefact) -> Outside | None:
    """Return the edges of an opened graph to nodes of another one; None where it has none."""
    if not file.has("outside/row"):
        return None
    into = file.read("outside/into").astype(bool)
    return Outside(file.read("outside/row"), file.read("outside/name"), into)


def module(path: Path) -> Any:
    """Return what stands for a data set's module: META with counts from the file, `load`, and where
    the file lies; no large array is read.

    Raises:
        TaamctlError: damaged, unfinished, or no imported graph.
    """
    with opened(path) as file:
        made_from, directed, width = (
            file.params,
            bool(file.attribute("directed")),
            int(file.attribute("num_features")),
        )
        (nodes,), (edges,), (classes,) = (
            file.shape(p) for p in ("labels", "adjacency/indices", "classes/name")
        )
        states = tuple(name for name in GIVEN if file.has(f"given/{name}"))
        tasks = int(file.read("given/arrival").max(initial=-1)) + 1 if "arrival" in states else None
    source = made_from.get("source") or {}
    meta = Meta(
        nodes=nodes,
        edges=edges,
        features=width,
        classes=classes,
        directed=directed,
        licence=str(source.get("licence") or "not stated"),
        citation=str(source.get("citation") or "not stated"),
        homepage=str(source.get("homepage") or ""),
        order="as imported",
    )
    return SimpleNamespace(
        META=meta,
        IMPORTED=path,
        SOURCE=source,
        STATES=states,
        TASKS=tasks,
        load=lambda root, params=None: read(path),
        features=lambda root, params=None: _graph_rows.features(path),
        graph_rows=lambda root, params=None: _graph_rows.graph(path),
    )
