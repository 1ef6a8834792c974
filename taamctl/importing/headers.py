"""Whether the first row of a table holds the names of its columns, told from its cells and, where
they do not tell, from the rows below; else the user is asked.
"""

from __future__ import annotations

import re
from dataclasses import replace

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import roles
from taamctl.importing.column_names import ID, LABEL, PART, TASK, TIME, guess
from taamctl.importing.context_names import ELSEWHERE
from taamctl.importing.held_table import TableSource, suffix_of
from taamctl.importing.messages import quoted, shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.tables import Table, first_rows, peek
from taamctl.importing.ways import Unclear
from taamctl.importing.words import spelled

CONTENT = ".content"  # id, features, class: as the tables of Planetoid's papers are kept
CITES = ".cites"
ENOUGH = 2  # rows of an edge list that say what the first one is not
_NUMBERED = re.compile(r"column \d+")  # as columns without a name are called
USUAL = (*ID, *LABEL, *TIME, *PART, *TASK)


def is_content(path: TableSource) -> bool:
    """Tell whether a file is called as a table of id, features and class without a header."""
    return suffix_of(path) == CONTENT


def of_content(path: TableSource, options: ImportOptions) -> tuple[ImportOptions, tuple[str, ...]]:
    """Return the options for a table without a header that is called .content, and what to say."""
    if not is_content(path) or options.header == "yes":
        return options, ()
    last = f"column {len(peek(path, options.delimiter, options.decimal)) - 1}"
    chosen = replace(options, id=options.id or "column 0", label=options.label or last)
    return chosen, (f"{path}: read without a header: id, features, and the class at the end",)


def of_nodes(cells: list[str], path: TableSource, options: ImportOptions) -> bool:
    """Tell whether the first row of a node table holds names.

    Raises:
        Unclear: it has no usual name, and looks like data.
    """
    stated = _stated(options.header, "header")
    if stated is not None:
        return stated
    if is_content(path) or all(is_number(c) for c in cells):
        return False
    named = {options.id, options.label, *options.features, *options.ignore} & set(cells)
    if named or guess(cells, USUAL) or not _like_data(cells):
        return True
    raise ask(cells, path, "no row of names")


def ask(cells: list[str], path: TableSource, what: str, either: bool = True) -> Unclear:
    """Return the question whether a first row holds names; not `either`: it can only be data."""
    no = "--header no --id 'column 0'"
    if not is_number(cells[-1]):
        no += f" --label {quoted(f'column {len(cells) - 1}')}"
    return Unclear(
        f"{path}: {what}: the first row ({shown(', '.join(cells))}) looks like data",
        "add a first line such as id,label,x0,x1; or say what it is: "
        + " or ".join((no, "--header yes")[: 1 + either]),
        (no, "--header yes")[: 1 + either],
    )


def of_edges(
    cells: list[str], path: TableSource, options: ImportOptions, nodes: Table | None = None
) -> bool:
    """Tell whether the first row of an edge list holds names.

    Args:
        nodes: the node table, whose cells tell where the rows below do not; None: there is none.

    Raises:
        TaamctlError: one column.
        Unclear: it can be an edge.
    """
    stated = _stated_of_edges(options)
    if stated is not None:
        return stated
    if roles.edge_ends(cells, options) is not None:
        return True
    _require_two_cells(cells, path)
    if suffix_of(path) == CITES or _numbers_among(cells) == 2:
        return False
    below = first_rows(path, options.delimiter, options.decimal)[1:]
    if below and all(_numbers_among(row) == 2 for row in below):
        return not _numbers_among(cells)
    by_nodes = _told_by_nodes(cells, below, nodes, ELSEWHERE.get())
    for told in (by_nodes, _stated(options.header, "header")):
        if told is not None:
            return told
    raise Unclear(
        f"{path}: no telling whether the first row ({shown(', '.join(cells[:2]))}) is an edge or "
        "the names of the columns",
        "add a first line source,target; or say what it is: --edge-header yes (names) or "
        "--edge-header no (an edge)",
        (_as_names(cells), "--edge-header no"),
    )


def _as_names(cells: list[str]) -> str:
    """Return the options that take a first row for names, the first two for those of the ends."""
    named = [cell.strip() for cell in cells[:2]]
    if len(cells) == 2 or not all(named):
        return "--edge-header yes"
    return f"--edge-header yes --source {quoted(named[0])} --target {quoted(named[1])}"


def _stated_of_edges(options: ImportOptions) -> bool | None:
    """Return what the user says of the first row of an edge list; None for nothing."""
    stated = _stated(options.edge_header, "edge-header")
    named = options.source or options.target
    if stated is not None or not named:
        return stated
    return not _NUMBERED.fullmatch(named)


def _told_by_nodes(
    cells: list[str], below: list[list[str]], nodes: Table | None, elsewhere: frozenset[str]
) -> bool | None:
    """Tell whether a first row holds names, where the rows below name nodes, of this graph or
    `elsewhere`: it does where it names none; None where the rows below do not.
    """
    ends = {spelled(cell) for row in below for cell in row[:2]}
    first = {spelled(cell) for cell in cells[:2]}
    if nodes is None or len(below) < ENOUGH:
        return None
    for column in nodes.columns.values():
        names = _texts(column) | elsewhere
        if ends <= names and (first <= names or not first & names):
            return not first <= names
    return None


def _texts(column: Array) -> set[str]:
    """Return what may name nodes in a column as text; nothing where it holds other things."""
    if column.ndim != 1 or column.dtype.kind not in "iuO":
        return set()
    return {spelled(value) for value in column.tolist()}


def _numbers_among(cells: list[str]) -> int:
    """Return how many of the two ends of an edge are numbers."""
    return sum(map(is_number, cells[:2]))


def _require_two_cells(cells: list[str], path: TableSource) -> None:
    if len(cells) < 2:
        raise TaamctlError(
            f"{path}: one column ({shown(cells[0])}), expected two ends of every edge",
            "name what stands between the cells, such as --delimiter ';'",
        )


def _stated(said: str, option: str) -> bool | None:
    """Return what the user says of a first row; None for nothing."""
    if said not in ("", "yes", "no"):
        raise TaamctlError(
            f"--{option} {shown(said)}: neither yes nor no",
            "yes: the first row holds the names of the columns; no: it is data",
        )
    return None if not said else said == "yes"


def _like_data(cells: list[str]) -> bool:
    """Tell whether cells hold numbers that do not just count the columns."""
    numbers = [c.strip() for c in cells if is_number(c)]
    counted = [str(i) for i in range(len(numbers) + 1)]
    return bool(numbers) and numbers not in (counted[:-1], counted[1:])


def is_number(cell: str) -> bool:
    """Tell whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # which Python would read as a number
