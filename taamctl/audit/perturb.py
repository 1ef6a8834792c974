"""Disturb everything in a graph that is no training node's, and leave the assignment of nodes to
(task, part) as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.audit.checks import SplitArrays
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, PARTS, Array, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.store import artefact_writer, artefacts
from taamctl.stream.induce import account, induce

KINDS = ("features", "edges", "labels")
SCALE = 1000.0  # noise is this many times as large as the largest feature


@dataclass(frozen=True)
class Perturbed:
    """A perturbed graph, and the class ids of its split's rows.

    Attributes:
        y: [M] stream class ids.
        count: how many nodes (edges) were perturbed.
    """

    graph: NodeGraph
    y: Array
    count: int


def perturb(raw: NodeGraph, split: SplitArrays, kind: str) -> Perturbed:
    """Return the graph with one thing changed wherever no training node, or not only training
    nodes, are concerned.

    Args:
        kind: `features`: of all other nodes, replaced by noise a thousand times as large; `edges`:
            all that touch another node lead somewhere else (but still touch one); `labels`: of val
            and test nodes, permuted.
    """
    rng = numpy_generator(0, f"audit/{kind}")
    other = np.ones(raw.num_nodes, bool)
    other[split.orig_id[split.in_train]] = False
    if kind == "features":
        graph = dataclasses.replace(raw, features=noise(raw.features, other, rng))
        return Perturbed(graph, split.y, int(other.sum()))
    if kind == "edges":
        adjacency, count = rewired(raw.adjacency, other, rng)
        return Perturbed(dataclasses.replace(raw, adjacency=adjacency), split.y, count)
    labels, y = raw.labels.copy(), split.y.copy()
    rows = np.flatnonzero(~split.in_train)
    drawn = rng.permutation(rows)
    y[rows] = split.y[drawn]
    labels[split.orig_id[rows]] = raw.labels[split.orig_id[drawn]]
    return Perturbed(dataclasses.replace(raw, labels=labels), y, int((y != split.y).sum()))


def noise(x: Array | CSR, other: Array, rng: np.random.Generator) -> Array | CSR:
    """Return features with the rows `other` replaced; a sparse row keeps its number of entries,
    but has at least one.
    """
    n, f = x.shape
    if isinstance(x, CSR) and x.data is None:
        x = dataclasses.replace(x, data=np.ones(x.nnz, np.float32))
    values = x.data if isinstance(x, CSR) else x
    assert values is not None
    scale = SCALE * max(1.0, float(np.abs(values).max(initial=0.0)))
    if isinstance(x, np.ndarray):
        out = x.copy()
        for row in np.flatnonzero(other):
            out[row] = scale * (0.5 + 0.5 * rng.random(f))
        return out
    lengths = np.diff(x.indptr)
    longer = np.where(other, np.maximum(lengths, min(f, 1)), lengths)
    indptr = np.concatenate([[0], np.cumsum(longer)]).astype(np.int64)
    of_row = np.repeat(np.arange(n, dtype=np.int64), longer)
    fresh, old = other[of_row], ~np.repeat(other, lengths)
    indices = np.empty(len(of_row), np.int32)
    indices[~fresh] = x.indices[old]
    place = np.arange(len(of_row)) - indptr[of_row]
    columns = (rng.integers(0, max(1, f), n)[of_row] + place)[fresh] % max(1, f)
    indices[fresh] = np.sort(of_row[fresh] * f + columns) % max(1, f)
    data = np.empty(len(of_row), np.float32)
    data[~fresh] = values[old]
    data[fresh] = scale * (0.5 + 0.5 * rng.random(int(fresh.sum())))
    return CSR(indptr, indices, data, x.shape)


def rewired(adjacency: CSR, other: Array, rng: np.random.Generator) -> tuple[CSR, int]:
    """Return the edges with all that touch a node of `other` drawn anew: one end among them, the
    other end anywhere.
    """
    n = adjacency.shape[0]
    target = np.repeat(np.arange(n, dtype=np.int64), np.diff(adjacency.indptr))
    source = adjacency.indices.astype(np.int64)
    touched = other[source] | other[target]
    count = int(touched.sum())
    if count:
        ends = np.stack([rng.choice(np.flatnonzero(other), count), rng.integers(0, n, count)])
        first = rng.integers(0, 2, count)
        source[touched] = ends[first, np.arange(count)]
        target[touched] = ends[1 - first, np.arange(count)]
    made, _ = adjacency_from_edges(source, target, n, "perturbed graph")
    return made, count


def split_changes(split: SplitArrays, y: Array, used: CSR) -> dict[str, Array]:
    """Return the arrays of a split artefact that follow from other labels and edges under the same
    assignment of nodes.

    Args:
        y: [M] stream class ids. used: the perturbed graph's edges as a split uses them.
    """
    edges = induce(used, split.orig_id, split.offset)
    counts = np.zeros((len(split.label), len(PARTS)), np.int64)
    np.add.at(counts, (y, split.groups % len(PARTS)), 1)
    return {
        "nodes/y": y,
        "classes/count": counts,
        "edges/indptr": edges.indptr,
        "edges/indices": edges.indices,
        "account/table": account(edges, split.offset),
    }


def rewrite(
    source: Path, target: Path, arrays: Mapping[str, Array], attributes: Mapping[str, object]
) -> None:
    """Write an artefact again with some arrays and root attributes changed."""
    own = ("kind", "schema_version", "params", "complete")
    with artefacts.Artefact(source) as old:

        def fill(writer: artefact_writer.Writer) -> None:
            for name, value in {**old.attributes(), **attributes}.items():
                if name not in own:
                    writer.attribute(name, value)
            for path in old.paths():
                writer.put(path, arrays[path] if path in arrays else old.read(path))

        artefact_writer.create(target, old.schema, old.params, fill)
