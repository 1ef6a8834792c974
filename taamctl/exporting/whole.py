"""A graph as a writer needs it: edges by their ends, classes that nodes have, and what is left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.rows import block_rows
from taamctl.core.types import CSR, PARTS, Array, NodeGraph
from taamctl.importing.messages import shown
from taamctl.importing.node_ids import id_text
from taamctl.importing.options import ImportOptions


@dataclass(frozen=True)
class Whole:
    """A graph to be written.

    Attributes:
        name: what it is called.
        source, target: [E] int64, the ends of every stored edge as row numbers.
        features: [N, F] float32, dense or CSR. feature_names: F names; empty where it has none.
        ids: N names of the nodes; their row numbers where they have none.
        named: whether the nodes have names.
        labels: [N] int64, -1 for none; None where no node has a label.
        class_names: names of the classes 0, 1, ..., each of which a node has.
        task: [classes] int64, the task of every class; None where none is stated.
        part: N words of train, val, test or empty; None where none is stated.
        time: [N] float64, NaN where unknown; None where none is stated.
        notes: what is left out.
    """

    name: str
    source: Array
    target: Array
    features: Array | CSR
    feature_names: tuple[str, ...]
    ids: list[str]
    named: bool
    labels: Array | None
    class_names: tuple[str, ...]
    task: Array | None
    part: list[str] | None
    time: Array | None
    notes: tuple[str, ...]

    def blocks(self) -> Iterator[Array]:
        """Yield the features as dense blocks of rows, [rows, F] float32."""
        n, width = self.features.shape
        step = block_rows(width)
        for low in range(0, n, step):
            yield self._dense(low, min(n, low + step))

    def _dense(self, low: int, high: int) -> Array:
        if not isinstance(self.features, CSR):
            return self.features[low:high]
        rows = self.features.rows(low, high)
        made = np.zeros(rows.shape, np.float32)
        at = np.repeat(np.arange(high - low), np.diff(rows.indptr))
        made[at, rows.indices] = 1 if rows.data is None else rows.data
        return made


@dataclass(frozen=True)
class Plan:
    """How a graph is written in one format, and how it is read back.

    Attributes:
        files: end of a file's name -> what writes it.
        options: what the import is to be told, so that it has nothing to guess.
        notes: what the format does not keep.
        tables: option of the import -> the end of the file that it takes.
    """

    files: Mapping[str, Callable[[Path], None]]
    options: ImportOptions
    notes: tuple[str, ...] = ()
    tables: Mapping[str, str] = field(default_factory=dict)


def whole_of(graph: NodeGraph) -> Whole:
    """Return a graph as it is written.

    Raises:
        TaamctlError: no features, or a node's name that no reader would keep.
    """
    if not graph.num_features or not graph.num_nodes:
        raise TaamctlError(
            f"{graph.name} has {graph.num_nodes:,} nodes with {graph.num_features:,} features, and "
            "no format reads that back",
            "export a graph that has both",
        )
    given = graph.given
    rows = np.repeat(np.arange(graph.num_nodes, dtype=np.int64), np.diff(graph.adjacency.indptr))
    used = np.unique(graph.labels[graph.labels >= 0])
    ids = list(map(str, range(graph.num_nodes)))
    if given.node_id is not None:
        ids = _kept([str(name) for name in given.node_id.tolist()], graph.name)
    labels, task, part = None, None, None
    if len(used):
        labels = np.where(graph.labels < 0, -1, np.searchsorted(used, graph.labels))
        if given.arrival is not None:
            task = given.arrival[used]
    if given.part is not None:
        part = [(*PARTS, "")[number] for number in given.part.tolist()]
    return Whole(
        graph.name,
        graph.adjacency.indices.astype(np.int64),
        rows,
        graph.features,
        graph.feature_names,
        ids,
        given.node_id is not None,
        labels,
        tuple(graph.class_names[c] for c in used),
        task,
        part,
        given.time,
        tuple(_left_out(graph, used)),
    )


def _kept(ids: list[str], name: str) -> list[str]:
    """Return names of nodes, after a look at what a reader makes of them."""
    changed = next((text for text in ids if id_text(text) != text), None)
    if changed is not None:
        raise TaamctlError(
            f"{name}: the node {changed[:60]!r} would come back as {id_text(changed)[:60]!r}",
            "import the graph again with names that have no blanks around them",
        )
    return ids


def _left_out(graph: NodeGraph, used: Array) -> Iterator[str]:
    """Say what no format of ours reads back."""
    lacking = [name for c, name in enumerate(graph.class_names) if c not in set(used.tolist())]
    if lacking:
        some = shown(", ".join(lacking))
        yield f"left out: {len(lacking):,} classes that no node has ({some})"
    if graph.outside is not None:
        yield f"left out: {len(graph.outside):,} edges to nodes of another graph"
    if graph.given.arrival is not None and not len(used):
        yield "left out: the tasks, as no node has a class"
