"""What tables state of the stream: the task of every class, the part of every node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS, Array
from taamctl.importing import node_ids
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.column_names import ID, LABEL, PART, TASK, guess
from taamctl.importing.messages import shown
from taamctl.importing.no_label import Said, means_none
from taamctl.importing.tables import Table
from taamctl.importing.words import MISSING, PART_WORDS, numbers_of, spelled


def tasks_of_nodes(
    labels: Array | None, tasks: Array, where: str, name: str, said: Said | None = None
) -> dict[str, str]:
    """Return class -> task from one task per node.

    Args:
        said: what the user says of words that mean no label; None: nothing.

    Raises:
        TaamctlError: no labels, a class without a task, or one with two.
    """
    if labels is None:
        raise TaamctlError(
            f"{where}: tasks in {shown(name)!r}, but no labels that they belong to",
            "--label names the column of the classes",
        )
    pairs = _labelled(np.ravel(labels).tolist(), np.ravel(tasks).tolist(), said or Said())
    lacking = [(row, c) for row, c, t in pairs if t.lower() in MISSING]
    if lacking:
        row, c = lacking[0]
        raise BadRows(
            f"{where}: no task in {shown(name)!r} at row {row}, whose class is {shown(c)!r}",
            "every node of a class states its task; a table of tasks has the header class,task",
            [row for row, _ in lacking],
        )
    found: dict[str, str] = {}
    twice = [(row, c, t) for row, c, t in pairs if found.setdefault(c, t) != t]
    if twice:
        row, c, t = twice[0]
        raise BadRows(
            f"{where}: class {shown(c)!r} has the tasks {shown(found[c])} and {shown(t)} "
            f"(row {row})",
            "a class arrives once, with one task",
            [row for row, _, _ in twice],
        )
    return found


def _labelled(labels: list[object], tasks: list[object], said: Said) -> list[tuple[int, str, str]]:
    """Return row, class and task of every node that has a class."""
    spelt = zip(map(spelled, labels), map(spelled, tasks), strict=True)
    return [(row, c, t) for row, (c, t) in enumerate(spelt) if not means_none(c, said)]


def tasks_of_table(table: Table, said: Said | None = None) -> dict[str, str]:
    """Return class -> task from a table of classes.

    Args:
        said: what the user says of words that mean no label; None: nothing.

    Raises:
        TaamctlError: fewer than two columns, or a class with two tasks.
    """
    of_class, of_task = _two_columns(table, LABEL, TASK, "class and task")
    return tasks_of_nodes(
        table.columns[of_class], table.columns[of_task], table.where, of_task, said
    )


def classes_of_table(table: Table) -> tuple[str, ...]:
    """Return the names of the classes 0, 1, ... from a table of one column, in their order, or of
    numbers and names.

    Raises:
        TaamctlError: more columns, or numbers that are not 0, 1, ..., each once.
    """
    columns = [column.tolist() for column in table.columns.values()]
    if len(columns) == 1:
        return tuple(map(str, columns[0]))
    numbers = numbers_of([spelled(cell) for cell in columns[0]])
    counted = numbers is not None and sorted(numbers.tolist()) == list(range(table.rows))
    if numbers is None or not counted or len(columns) > 2:
        raise TaamctlError(
            f"{table.where}: {len(columns)} columns, of which the first does not number the "
            "classes 0, 1, ..., each once",
            "write two columns, number and class, a row for every class",
        )
    by_number = sorted(zip(numbers.tolist(), columns[1], strict=True))
    return tuple(str(name) for _, name in by_number)


def parts_of_table(table: Table, node_id: Array | None, n: int) -> Array:
    """Return the part of every node, as words, from a table of ids and parts; nodes that it leaves
    out get none.

    Raises:
        TaamctlError: fewer than two columns, an unknown id, a node with two parts.
    """
    of_id, of_part = _two_columns(table, ID, PART, "id and part")
    ids = range(n) if node_id is None else np.asarray(node_id).tolist()
    row_of = {node_ids.id_text(value): i for i, value in enumerate(ids)}
    out: list[str] = [""] * n
    nodes = [node_ids.id_text(value) for value in table.columns[of_id].tolist()]
    parts = _part_words(table.columns[of_part].tolist(), table.where)
    unknown = [row for row, name in enumerate(nodes) if name not in row_of]
    if unknown:
        raise BadRows(
            f"{table.where}: row {unknown[0]} is about the node {shown(nodes[unknown[0]])!r}, "
            "which the graph lacks",
            "ids must be spelled alike",
            unknown,
        )
    for row, (name, part) in enumerate(zip(nodes, parts, strict=True)):
        before = out[row_of[name]]
        if before and PART_WORDS.get(before, before) != PART_WORDS.get(part, part):
            raise BadRows(
                f"{table.where}: the node {shown(name)!r} is in {before} and in {part} (row {row})",
                "a node belongs to one part",
                [row],
            )
        out[row_of[name]] = part
    if not any(out):
        raise TaamctlError(
            f"{table.where} gives no node a part", f"a part is one of {', '.join(PARTS)}"
        )
    return np.array(out, object)


def _two_columns(
    table: Table, first: Sequence[str], second: Sequence[str], what: str
) -> tuple[str, str]:
    """Return two columns by their usual names, else in their order."""
    names = list(table.columns)
    if len(names) < 2:
        raise TaamctlError(
            f"{table.where} has one column, expected {what}",
            f"its header is such as {first[0]},{second[0]}; --delimiter names what stands between "
            "cells",
        )
    of_first = guess(names, first) or names[0]
    return of_first, guess(names, second) or next(name for name in names if name != of_first)


def _part_words(words: Sequence[object], where: str) -> list[str]:
    """Return parts as they are spelt, in lower case; empty for a node of no part."""
    parts = [spelled(word).lower() for word in words]
    known = {*PART_WORDS, "0", "1", "2", *MISSING}
    wrong = [row for row, part in enumerate(parts) if part not in known]
    if wrong:
        raise BadRows(
            f"{where}: the part {shown(words[wrong[0]])!r} at row {wrong[0]} is none of "
            f"{', '.join(PARTS)}",
            "leave it empty for a node of no part",
            wrong,
        )
    return parts
