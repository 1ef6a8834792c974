"""Edges to nodes that stand in another graph, such as those of new articles to old ones: they are
kept beside a graph, by the other nodes' names.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import Array
from taamctl.datasets import _imported
from taamctl.importing.context_names import Context
from taamctl.importing.edge_ends import Names, different, rows_of
from taamctl.importing.messages import some
from taamctl.store import artefacts
from taamctl.store.graph_kind import GRAPH


def context_of(path: Path) -> Context:
    """Return the names of the nodes of an imported graph; its row numbers where they have none.

    Raises:
        TaamctlError: missing, damaged, or no imported graph.
    """
    with artefacts.Artefact(path, GRAPH, _imported.MADE_BY) as file:
        if file.has("given/node_id"):
            names = file.read("given/node_id").tolist()
        else:
            names = list(map(str, range(file.shape("labels")[0])))
    return Context(frozenset(names), path.name)


def by_row(context: Context, where: str) -> TaamctlError:
    """Return the refusal of edges that count rows, beside a context."""
    return TaamctlError(
        f"{where}: the ends of the edges are row numbers, so none can be a node of {context.where}",
        "--id names what holds the nodes' ids, as edges spell them; or leave --context out",
    )


def apart(
    source: Array, target: Array, names: Names, context: Context, files: tuple[str, str]
) -> tuple[Array, Array, Outside | None, tuple[str, ...]]:
    """Return the edges that do not touch the context, those that lead from nodes to it or back, and
    what to say of them. Edges inside the context are left out: it has its own.

    Args:
        source, target: [E] names of nodes, of this graph or the other.
        names: those of this graph.
        files: the one of the nodes and the one of the edges, for messages.

    Raises:
        TaamctlError: a node that stands in both graphs.
    """
    own = names.text.tolist()
    _refuse_in_both(sorted(set(own) & context.names), context, files[0])
    ends = [_End.of(end, own, context) for end in (source, target)]
    inside = ends[0].foreign & ends[1].foreign
    crossing = ends[0].foreign ^ ends[1].foreign
    crossing &= np.where(ends[0].foreign, ends[1].row, ends[0].row) >= 0  # else no node at all
    kept = ~(inside | crossing)
    into = ends[0].foreign[crossing]
    row = np.where(into, ends[1].row[crossing], ends[0].row[crossing])
    name = np.where(into, ends[0].text[crossing], ends[1].text[crossing])
    outside = _once(row, name, into)
    notes = tuple(_notes(outside, int(inside.sum()), context, files[1]))
    return source[kept], target[kept], outside, notes


@dataclass(frozen=True)
class _End:
    """One end of every edge, [E]: its spelling, its row in this graph or -1, and whether it is a
    node of the context.
    """

    text: Array
    row: Array
    foreign: Array

    @staticmethod
    def of(ends: Array, own: list[str], context: Context) -> _End:
        codes, texts = different(ends)
        row_of = rows_of(own, {text for text in texts if text not in context.names})
        rows = np.array([row_of.get(text, -1) for text in texts], np.int64)
        foreign = np.array([text in context.names for text in texts], bool)
        rows[foreign] = -1
        return _End(np.array([*texts, None], object)[:-1][codes], rows[codes], foreign[codes])


def _once(row: Array, name: Array, into: Array) -> Outside | None:
    """Return the edges in one order, each once; None where there is none."""
    edges = sorted(set(zip(row.tolist(), name.tolist(), into.tolist(), strict=True)))
    if not edges:
        return None
    rows, names, ends = zip(*edges, strict=True)
    return Outside(np.array(rows, np.int64), np.array(names, object), np.array(ends, bool))


def _notes(outside: Outside | None, inside: int, context: Context, where: str) -> list[str]:
    said = []
    if outside is not None:
        others = len(set(outside.name.tolist()))
        said.append(
            f"{where}: {len(outside):,} edges to {others:,} nodes of {context.where} are kept "
            "beside the graph: predict and bank add-task use them with --context"
        )
    if inside:
        said.append(f"{where}: {inside:,} edges between nodes of {context.where} are not read")
    return said


def _refuse_in_both(both: list[str], context: Context, where: str) -> None:
    if both:
        raise TaamctlError(
            f"{where}: {len(both):,} nodes stand in {context.where} too ({some(both)})",
            "a node has one row: leave the rows of old nodes out of the new table",
        )
