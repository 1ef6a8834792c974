"""A node table and an edge list, in any order: text, Parquet, Arrow, or held in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import column_names, headers, node_ids, roles, table_folder
from taamctl.importing.bad_rows import BadRows, bad_rows, lines_in
from taamctl.importing.blank_rows import empty_cells, without_blank_rows
from taamctl.importing.held_table import TableSource
from taamctl.importing.messages import shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.table_head import DELIMITERS
from taamctl.importing.tables import Table, delimiter_in, peek, read_table
from taamctl.importing.vectors import unfolded

EDGES = re.compile(r"edge|link|cites|relation|arc", re.IGNORECASE)
_SPELT = {"\t": "tab", " ": "space"}  # as --delimiter takes them
_NODES = re.compile(r"node|vert|feat|content|attr", re.IGNORECASE)


def read(paths: Sequence[TableSource], options: ImportOptions) -> RawGraph:
    """Return what the two tables say.

    Args:
        paths: the two; or one folder that holds them.

    Raises:
        TaamctlError: not two tables, or no telling which is which; a column that is not there; a
            cell that is not what it should be.
    """
    node_path, edge_path = which(_unpacked(paths), options)
    return of_two(node_path, edge_path, options)


def of_two(node_path: TableSource, edge_path: TableSource, options: ImportOptions) -> RawGraph:
    """Return what a table of nodes and one of edges say.

    Raises:
        TaamctlError: a column that is not there; a cell that is not what it should be.
    """
    options, said = headers.of_content(node_path, options)
    table = node_table(node_path, options)
    options = column_names.whole_names(options, list(table.columns))
    listed = edge_table(edge_path, options, table)
    source, target, notes = edge_columns(listed, options)
    settled = roles.settled(table, options)
    if settled != options:  # another column is the class, whose cells are text
        options, table = settled, node_table(node_path, settled)
    chosen = roles.roles(list(table.columns), options, table.where)
    others = roles.without_meaning(table, chosen, options)
    if not chosen.id and options.ends != "rows":
        options, note = _with_id(node_path, table, others, (source, target), options)
        if note:
            notes = (note, *notes)
            table = node_table(node_path, options)  # its cells as text, as ids are
    elif not options.id and options.ends != "rows":
        node_ids.refuse_rivals(table.columns, chosen.id, others, source, target, table.where)
    node_lines = lines_in(table, options.delimiter)
    edge_lines = lines_in(listed, options.delimiter)
    try:
        raw, rows = roles.nodes(table, options), table.rows
    except BadRows as error:
        raise node_lines(error) from error
    taken = _with_ends(raw, listed, options, (node_path, edge_path))
    by_row = options.ends == "rows"
    have_ids = raw.node_id is not None and not by_row
    try:
        source, target, left = ends(source, target, str(edge_path), have_ids, options.bad_edges)
    except BadRows as error:
        raise edge_lines(error) from error
    notes = (*said, *notes, *left, *dropped(table))
    return replace(
        raw,
        source=source,
        target=target,
        edges_where=str(edge_path),
        taken=taken,
        edge_lines=None if left else edge_lines,  # edges are counted without those left out
        node_lines=node_lines,
        notes=(*raw.notes, *notes),
        by_row=by_row,
        hint_of_ids=lambda u, v: "" if options.id else node_ids.hint_of_rows(u, v, rows),
    )


def _with_id(
    node_path: TableSource,
    table: Table,
    others: Sequence[str],
    ends: tuple[Array, Array],
    options: ImportOptions,
) -> tuple[ImportOptions, str]:
    """Return the options with the column whose cells the ends of edges name, and what is said of
    it; as they are, and nothing, where there is none.

    Args:
        others: the columns that mean nothing yet.
    """
    found, why = node_ids.id_column(
        table.columns,
        others,
        node_ids.ends_of(*ends, table.rows),
        table.where,
        by_name=options.ends == "ids",
    )
    if not found:
        return options, ""
    same = node_ids.twins(table.columns, others, found)
    chosen = replace(options, id=found, ignore=(*options.ignore, *same))
    return chosen, f"{node_path}: {found!r} is taken for the nodes' id: {why}"


def _unpacked(paths: Sequence[TableSource]) -> Sequence[TableSource]:
    """Return the tables in the one folder that is named; others as they are."""
    (first, *others) = paths
    if others or not isinstance(first, Path) or not first.is_dir():
        return paths
    return table_folder.tables_in(first)


def dropped(table: Table) -> tuple[str, ...]:
    """Say how many rows were left out."""
    return (f"{table.where}: {table.dropped:,} empty rows left out",) * (table.dropped > 0)


def _with_ends(
    raw: RawGraph, edges: Table, options: ImportOptions, paths: Sequence[TableSource]
) -> ImportOptions | None:
    """Return what was taken of both tables."""
    if raw.taken is None:
        return None
    found = {delimiter_in(path, options.delimiter, options.decimal) for path in paths}
    both = found.pop() if len(found) == 1 else options.delimiter
    source, target = _names_of_ends(edges, options, edges.where)
    return replace(
        raw.taken,
        source=source,
        target=target,
        ends=options.ends or ("rows" if raw.node_id is None else "ids"),
        edge_header=("no", "yes")[edges.headed],
        delimiter=_SPELT.get(both, both),
    )


def which(paths: Sequence[TableSource], options: ImportOptions) -> tuple[TableSource, TableSource]:
    """Return the node table and the edge list: told by the names of their columns, by those of the
    files, or by their width.

    Raises:
        TaamctlError: not two files, or no telling.
    """
    cells = [peek(path, options.delimiter, options.decimal) for path in paths]
    ends = [roles.edge_ends(c, options) is not None for c in cells]
    _require_two(paths, cells, ends)
    if sum(ends) == 1 and not options.source:
        _refuse_crossed(paths, cells, ends.index(True), options)
    signs = (
        ends,
        [bool(EDGES.search(path.name)) for path in paths],
        [not _NODES.search(path.name) for path in paths],
        [len(c) <= 2 for c in cells],
    )
    for like_edges in signs:
        if sum(like_edges) == 1:
            at = like_edges.index(True)
            return paths[1 - at], paths[at]
    raise TaamctlError(
        f"no telling which of {paths[0]} and {paths[1]} is the edge list",
        "say which columns hold the ends of an edge: --source COLUMN --target COLUMN",
    )


def _require_two(paths: Sequence[TableSource], cells: list[list[str]], ends: list[bool]) -> None:
    if len(paths) == 1:
        lacks = "no edge list"
        if ends[0] or len(cells[0]) <= 2:
            lacks = "no node table"
        raise TaamctlError(
            f"{paths[0]} comes alone: there is {lacks}",
            "name two files: a node table (id, label, features) and an edge list (source, target)",
        )
    if len(paths) > 2:
        raise TaamctlError(
            f"{len(paths)} tables are named, expected a node table and an edge list",
            "join tables of nodes by their ids; "
            "tasks and parts have the options --tasks and --split",
        )


def _refuse_crossed(
    paths: Sequence[TableSource], cells: list[list[str]], at: int, options: ImportOptions
) -> None:
    """Refuse two files of which one has columns like the other's name."""
    if EDGES.search(paths[1 - at].name) and _NODES.search(paths[at].name):
        like_ends = " and ".join(roles.edge_ends(cells[at], options) or ())
        raise TaamctlError(
            f"{paths[at]} is called like a node table, and its columns {like_ends} like the ends "
            "of edges",
            f"say which columns of {paths[1 - at]} are the ends: --source COLUMN --target COLUMN",
        )


def node_table(path: TableSource, options: ImportOptions, features: bool = True) -> Table:
    """Return the table of nodes, columns of features parsed as numbers where they are.

    Raises:
        TaamctlError: no header.
    """

    def numeric(names: Sequence[str]) -> Sequence[str]:
        whole = column_names.whole_names(options, names)
        return roles.roles(names, whole, str(path)).features if features else ()

    where = str(path)
    table = read_table(
        path,
        options.delimiter,
        lambda cells: headers.of_nodes(cells, path, options),
        numeric,
        options.decimal,
    )
    if not table.headed and not options.header and not headers.is_content(path):
        raise TaamctlError(
            f"{path}: the first row holds numbers only, where the names of the columns are "
            "expected",
            "add a first line such as id,label,x0,x1; or --header no, and name the columns by "
            "their numbers: --id 'column 0'",
        )
    (only, *others) = table.columns
    if not others and any(d in only for d in DELIMITERS[:-1]):
        raise TaamctlError(
            f"{path}: one column ({shown(only)}), expected at least an id and features",
            "name what stands between the cells, such as --delimiter ,",
        )
    table = without_blank_rows(table, options)
    if not features:
        return table
    names = roles.roles(
        list(table.columns), column_names.whole_names(options, list(table.columns)), where
    ).features
    return replace(table, columns=unfolded(table.columns, names, where, options.decimal))


def edge_table(path: TableSource, options: ImportOptions, nodes: Table | None = None) -> Table:
    """Return the table of edges.

    Args:
        nodes: the table of nodes, which may tell whether the first row is an edge.

    Raises:
        TaamctlError: damaged, or no telling whether the first row is an edge.
    """
    return read_table(
        path,
        options.delimiter,
        lambda cells: headers.of_edges(cells, path, options, nodes),
        decimal=options.decimal,
    )


def edge_columns(table: Table, options: ImportOptions) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the two columns that hold the ends of the edges, as the table has them, and notes.

    Raises:
        TaamctlError: no telling which columns are the ends.
    """
    path, names = Path(table.where), list(table.columns)
    source, target = _names_of_ends(table, options, table.where)
    left = [name for name in names if name not in (source, target)]
    notes: tuple[str, ...] = (f"{path}: source from {source!r}; target from {target!r}",)
    if left:
        more = ", ..." * (len(left) > 10)
        notes += (f"{path}: columns of the edges not read: {', '.join(left[:10])}{more}",)
    for name in (source, target):
        _require_numbers_or_text(table.columns[name], name, path)
    return table.columns[source], table.columns[target], notes


def _require_numbers_or_text(column: Array, name: str, path: TableSource) -> None:
    if column.ndim == 1 and column.dtype.kind in "iufOUS":
        return
    what = "lists" if column.ndim > 1 else column.dtype
    raise TaamctlError(
        f"{path}: {name!r} holds {what}, expected whole numbers or text",
        "an end of an edge is one number or name; save the column so",
    )


def _names_of_ends(table: Table, options: ImportOptions, where: str) -> tuple[str, str]:
    """Return the names of the two columns that hold the ends."""
    names = list(table.columns)
    if options.source or options.target:
        if not (options.source and options.target):
            raise TaamctlError("--source and --target belong together", "name both columns")
        column_names.named(options.source, names, where, "source")
        column_names.named(options.target, names, where, "target")
        return options.source, options.target
    pair = roles.edge_ends(names, options)
    if pair is None and table.headed:
        pair = column_names.first_and_second(names)
    if pair is None and table.headed and len(names) > 2:
        raise TaamctlError(
            f"{where}: no telling which columns are the ends of an edge; there are: "
            f"{', '.join(map(shown, names[:12]))}",
            "name them with --source and --target",
        )
    return pair or (names[0], names[1])


def ends(
    source: Array, target: Array, where: str, have_ids: bool, bad: str = "refuse"
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the ends of edges, as numbers where nodes have no names, and what was left out.

    Args:
        bad: `refuse` edges with an empty end, or `drop` them.

    Raises:
        BadRows: an end that is empty, or no whole number; the message names the edge.
    """
    empty = empty_cells(source) | empty_cells(target)
    notes: tuple[str, ...] = ()
    if empty.any():
        if bad != "drop" or empty.all():
            raise _empty_ends(source, target, empty, where)
        source, target = source[~empty], target[~empty]
        notes = (f"{where}: {int(empty.sum()):,} edges left out, of which an end is empty",)
    numbers = []
    for column in (source, target):
        if column.dtype.kind in "iuf" or have_ids:
            numbers.append(column)
            continue
        rows = _whole_numbers(column)
        if None in rows:
            bad_row = rows.index(None)
            raise bad_rows(
                f"{where}: edge {bad_row} is ({shown(source[bad_row])}, {shown(target[bad_row])}), "
                "which is no row of the node table; that has no id column",
                "name the column of the nodes' ids with --id",
                np.array([row is None for row in rows]),
            )
        numbers.append(np.array(rows, np.int64))
    return numbers[0], numbers[1], notes


def _empty_ends(source: Array, target: Array, empty: Array, where: str) -> BadRows:
    """Return the refusal of edges of which an end is an empty cell or NaN."""
    at = int(empty.argmax())
    more = f", and {int(empty.sum()) - 1:,} more edges" * (int(empty.sum()) > 1)
    return bad_rows(
        f"{where}: edge {at} is ({shown(source[at])}, {shown(target[at])}): an end is "
        f"missing{more}",
        "every edge names two nodes; mend or drop that row, or leave such edges out: --bad-edges "
        "drop",
        empty,
    )


def _whole_numbers(column: Array) -> list[int | None]:
    """Return cells as int64 row numbers; None for one that is no such number."""
    import pandas as pd

    parsed = pd.to_numeric(pd.Series(column), errors="coerce").to_numpy()
    if parsed.dtype == np.int64:
        return list(parsed.tolist())
    found = [node_ids.WHOLE.fullmatch(str(v).strip()) for v in column.tolist()]
    return [int(m[1]) if m and abs(int(m[1])) < 1 << 63 else None for m in found]
