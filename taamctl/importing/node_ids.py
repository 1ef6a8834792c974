"""Which column names the nodes, and whether the ends of edges are such names or row numbers, told
from what the edges hold.

A list of usual names misses most id columns, so the values decide. Where two readings are possible
that make two graphs, neither is taken, but for a column that is called an id (`paper_id`, `txId`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array

FEW = 10  # nodes: among fewer, a feature such as 0, 1, 2 is a permutation of row numbers by chance
SOME = 1000  # edges that are looked at before all are
EXACT = 1 << 24  # whole numbers up to here are exact in float32
_LIKE_AN_ID = re.compile(r"(^|[^a-zA-Z])([iI][dD][sx]?|uuid|guid)$|[a-z](I[dD]s?|Idx)$")
# a whole number as tables spell it; not what int() takes beyond that, such as 1_0
WHOLE = re.compile(r"([+-]?[0-9]{1,20})(\.0*)?")
# share of rows that may repeat a value in a column that is still looked at as ids: they are an
# error to be named
MOST_TWICE = 0.1
UNNAMED = re.compile(
    r"Unnamed: \d+(\.\d+)*|__index_level_\d+__"
)  # what pandas calls a column without a name, often the row number


@dataclass(frozen=True)
class Ends:
    """The different ends of all edges.

    Attributes:
        text: every different end, as text.
        numbers: the same as whole numbers; None where one is none.
        are_rows: all of them are row numbers 0..N-1.
    """

    text: frozenset[str]
    numbers: frozenset[int] | None
    are_rows: bool


def ends_of(source: Any, target: Any, n: int) -> Ends:
    """Return the different ends of edges.

    Args:
        source, target: [E] numbers or text. n: number of nodes.
    """
    import pandas as pd

    columns = [np.asarray(ends) for ends in (source, target)]
    joined = np.concatenate(
        columns
        if len({c.dtype.kind for c in columns}) == 1
        else [c.astype(object) for c in columns]
    )
    text = frozenset(spelled(v) for v in pd.unique(joined).tolist())
    whole = [WHOLE.fullmatch(t) for t in text]
    if not all(whole):
        return Ends(text, None, False)
    numbers = frozenset(int(m[1]) for m in whole if m)
    return Ends(text, numbers, bool(numbers) and 0 <= min(numbers) <= max(numbers) < n)


def spelled(value: Any) -> str:
    """Return an id as text; a whole number that was read as a float loses its `.0`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return (
        value.decode("utf-8", "replace").strip() if isinstance(value, bytes) else str(value).strip()
    )


def holding(cell: Mapping[str, Array], names: Sequence[str], ends: Ends) -> tuple[str, ...]:
    """Return the columns that name every end of the edges; of columns that are equal the first,
    one with a name before one without.
    """
    found = sorted(
        (name for name in names if _holds(cell[name], ends)),
        key=lambda name: bool(UNNAMED.fullmatch(name)),
    )
    return tuple(
        name
        for i, name in enumerate(found)
        if not any(_equal(cell[name], cell[other]) for other in found[:i])
    )


def twins(cell: Mapping[str, Array], names: Sequence[str], taken: str) -> tuple[str, ...]:
    """Return the columns that hold the same as one that is taken for the ids."""
    return tuple(name for name in names if name != taken and _equal(cell[name], cell[taken]))


def _equal(one: Array, other: Array) -> bool:
    return (
        one.dtype.kind in "iuO"
        and one.dtype == other.dtype
        and one.shape == other.shape
        and bool((one == other).all())
    )


def _holds(column: Array, ends: Ends) -> bool:
    """Tell whether a column has every end among its values, nearly all of which differ; empty
    cells do not count.
    """
    if not _could_name(column, least=len(ends.text)):
        return False
    if column.dtype.kind in "iuf":
        known = column[~np.isnan(column)] if column.dtype.kind == "f" else column
        return ends.numbers is not None and ends.numbers <= {
            int(v) for v in known.tolist()
        }  # 007 was read as 7
    text = {spelled(v) for v in column.tolist()}
    if ends.text <= text:
        return True
    whole = [WHOLE.fullmatch(t) for t in text]
    if ends.numbers is None or not all(whole):
        return False
    return ends.numbers <= {int(m[1]) for m in whole if m}  # 007 and 7 are one id


def _could_name(column: Array, least: int = FEW) -> bool:
    """Tell whether a column holds text or whole numbers of which few stand twice."""
    import pandas as pd

    if column.ndim != 1 or column.dtype.kind not in "iufO" or len(column) < least:
        return False
    if column.dtype.kind == "f":
        known = column[~np.isnan(column)]
        if not np.isfinite(known).all() or (known != np.floor(known)).any():
            return False
    try:
        return bool(pd.Series(column).nunique() >= (1 - MOST_TWICE) * len(column))
    except TypeError:  # cells that are lists or mappings
        return False


def id_column(
    cell: Mapping[str, Array],
    names: Sequence[str],
    ends: Ends,
    where: str,
    *,
    by_name: bool = False,
) -> tuple[str, str]:
    """Return the column that the edges name the nodes by, and why it is taken; two empty texts
    where ends are row numbers.

    Args:
        cell: the columns of the node table. names: those without another meaning.
        by_name: ends are names, as the user said.

    Raises:
        TaamctlError: two columns hold every end; or one does, and the ends can be row numbers as
            well.
    """
    found = holding(cell, names, ends)
    others = [name for name in found if not _same_as_rows(cell[name])]
    if ends.are_rows and not others:
        return (found[0], "its values are the row numbers") if found else ("", "")
    if not found:
        return "", ""
    sure = by_name or not ends.are_rows or any(_LIKE_AN_ID.search(name) for name in others)
    if not sure and len(cell[found[0]]) < FEW:
        return "", ""
    if len(others) == 1 and sure:
        return others[0], "the only column that holds every end of the edges"
    rows = ", or --ends rows: edges count the rows from 0" if ends.are_rows else ""
    held = " and ".join(repr(name) for name in others)
    if len(others) > 1:
        raise TaamctlError(
            f"{where}: no column has a usual name of an id, and {held} each hold every end of the "
            "edges",
            "say which one names the nodes: "
            f"{' or '.join(f'--id {quoted(n)}' for n in others)}{rows}",
        )
    raise TaamctlError(
        f"{where}: the ends of the edges can be the values of {held} or row numbers, and that "
        "makes two graphs",
        f"say which: --id {quoted(others[0])}{rows}",
    )


def refuse_rivals(
    cell: Mapping[str, Array],
    taken: str,
    names: Sequence[str],
    source: Any,
    target: Any,
    where: str,
) -> None:
    """Refuse an id column, taken for its name, where another column names every end of the edges
    and it does not, or counts the rows.

    Args:
        taken: the id column. names: the columns without another meaning.

    Raises:
        TaamctlError: there is such a column.
    """
    rivals = [name for name in names if _could_name(cell[name]) and not _same_as_rows(cell[name])]
    some = ends_of(
        source[:SOME], target[:SOME], len(cell[taken])
    )  # of millions of edges, these rule out nearly every column
    rivals = [name for name in rivals if _holds(cell[name], some)]
    if not rivals:
        return
    ends = ends_of(source, target, len(cell[taken]))
    found = [name for name in holding(cell, rivals, ends) if not _equal(cell[name], cell[taken])]
    if not found:
        return
    if not _holds(cell[taken], ends):
        raise TaamctlError(
            f"{where}: {taken!r} is called like an id, but lacks ends of the edges that "
            f"{' and '.join(map(repr, found))} hold{'s' if len(found) == 1 else ''}",
            _instead(found, taken),
        )
    if any(_same_as_rows(cell[taken], first) for first in (0, 1)):
        raise TaamctlError(
            f"{where}: {taken!r} counts the rows, and {found[0]!r} names every end of the edges "
            "too: that makes two graphs",
            f"say which one the edges mean: --id {quoted(taken)} or --id {quoted(found[0])}",
        )


def _instead(found: Sequence[str], taken: str) -> str:
    """Return the options that take another column for the ids, and leave out the one that is
    called so.
    """
    ways = [
        f"--id {quoted(name)}"
        + "".join(f" --ignore {quoted(other)}" for other in (taken, *found) if other != name)
        for name in found
    ]
    return (
        f"{' or '.join(ways)}: {' and '.join(map(repr, found))} "
        f"name{'s' if len(found) == 1 else ''} every end of the edges"
    )


def _same_as_rows(column: Array, first: int = 0) -> bool:
    if column.dtype.kind in "iu":
        return bool(np.array_equal(column, np.arange(first, first + len(column))))
    return [spelled(v) for v in column.tolist()] == [
        str(row) for row in range(first, first + len(column))
    ]


def rows_or_ids(
    ids: Any, source: Any, target: Any, chosen: str, where: str, key: str
) -> tuple[bool, str]:
    """Tell whether ends beside an array of the nodes' names are row numbers, and what to say of it.

    Args:
        ids: [N] names of the nodes. chosen: `rows` or `ids` where the user said so, else empty.
            key: what the array is called.

    Raises:
        TaamctlError: both readings are possible and make two graphs.
    """
    if chosen:
        return chosen == "rows", ""
    names = [spelled(v) for v in np.asarray(ids).ravel().tolist()]
    ends = ends_of(np.asarray(source).ravel(), np.asarray(target).ravel(), len(names))
    if not ends.are_rows or (
        np.asarray(source).dtype.kind in "USO" and ends.text <= set(names)
    ):  # numbers kept as text are names
        return False, ""
    row_of = {name: row for row, name in enumerate(names)}
    if not ends.text <= row_of.keys():
        return True, f"{where}: the ends of the edges are row numbers; {key!r} names the nodes"
    moved = next((end for end in sorted(ends.text, key=float) if row_of[end] != float(end)), None)
    if moved is None:
        return True, ""
    raise TaamctlError(
        f"{where}: an edge to {moved} can mean row {moved}, or the node that {key!r} calls {moved} "
        f"(row {row_of[moved]}): that makes two graphs",
        "say which: --ends rows, or --ends ids",
    )


def hint_of_rows(source: Any, target: Any, n: int) -> str:
    """Return what to do where ends are no nodes' ids but can be row numbers; else an empty text."""
    possible = ends_of(source, target, n).are_rows
    return (
        "--ends rows, where edges count the rows from 0; else spell ids alike in both files"
        if possible
        else ""
    )


def usable_names(ids: Any, n: int) -> bool:
    """Tell whether an array can name N nodes: one name each, none empty, none twice."""
    names = [spelled(v) for v in np.asarray(ids).ravel().tolist() if v is not None and v == v]
    return len(names) == n and len(set(names)) == n and all(names)


def numbers_of_rows(cell: Mapping[str, Array], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that number the nodes, and are no features: every whole number from 0 to
    N-1 once, in any order, or 1 to N in the order of the rows.
    """
    return tuple(name for name in names if _numbers_nodes(cell[name]))


def _numbers_nodes(column: Array) -> bool:
    whole = _different_whole(column)
    if whole is None or whole.max() - whole.min() != len(whole) - 1:
        return False
    ordered = bool((whole == np.arange(1, len(whole) + 1)).all())
    return bool(whole.min() == 0) or ordered


def like_ids(cell: Mapping[str, Array], names: Sequence[str], where: str) -> list[str]:
    """Say which columns of features hold a different whole number for every node, and where
    float32 rounds whole numbers.
    """
    notes = []
    for name in names:
        column = cell[name]
        if _different_whole(column) is not None:
            notes.append(
                f"{where}: warning: {name!r} holds a different whole number for every node: is it "
                f"an id? It is taken as a feature; --ignore {quoted(name)} leaves it out"
            )
        if (
            column.dtype.kind in "iu"
            and column.size
            and max(-int(column.min()), int(column.max())) > EXACT
        ):
            notes.append(
                f"{where}: warning: {name!r} holds whole numbers above {EXACT:,}, whose last "
                "digits float32 cannot hold"
            )
    return notes


def _different_whole(column: Array) -> Array | None:
    """Return a column as whole numbers where it holds a different one for every node, and there
    are enough of them.
    """
    if column.ndim != 1 or column.dtype.kind not in "iuf" or len(column) < FEW:
        return None
    if column.dtype.kind == "f" and not (
        np.isfinite(column).all() and (column == np.floor(column)).all()
    ):
        return None
    return column if len(np.unique(column)) == len(column) else None


def quoted(name: str) -> str:
    """Return a name as a shell takes it."""
    import shlex

    return shlex.quote(name)
