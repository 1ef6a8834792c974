"""What the two tables of a graph have in common, as text and as Parquet."""

from __future__ import annotations

from dataclasses import replace

from taamctl.core.errors import TaamctlError
from taamctl.exporting.text_columns import TextColumns, free_name, text_columns
from taamctl.exporting.whole import Whole


def node_tables(whole: Whole, kind: str) -> TextColumns:
    """Return the columns of the nodes, their ids first, with the names of an edge's ends among the
    options.

    Raises:
        TaamctlError: the graph has no edge: a table without rows is no table to an import.
    """
    if not len(whole.source):
        raise TaamctlError(
            f"{whole.name} has no edge, and {kind} keeps no table without a row",
            "export it with --format npz, pyg, dgl or graphml",
        )
    columns = text_columns(whole, kind)
    taken = {*columns.cells, *columns.features}
    own = free_name("id", taken)
    ends = [free_name(end, {*taken, own}) for end in ("source", "target")]
    options = replace(columns.options, id=own, source=ends[0], target=ends[1], ends="ids")
    return replace(columns, cells={own: whole.ids, **columns.cells}, options=options)


def ends_of(whole: Whole) -> tuple[list[str], list[str]]:
    """Return the names of both ends of every edge."""
    ids = whole.ids
    source, target = whole.source.tolist(), whole.target.tolist()
    return [ids[row] for row in source], [ids[row] for row in target]
