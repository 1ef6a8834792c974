"""Which column names the nodes, and whether the ends of edges are such names or row numbers, told
from what the edges hold.

A list of usual names misses most id columns, so the values decide. Where two readings are possible
that make two graphs, neither is taken, but for a column that is called an id (`paper_id`, `txId`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.context_names import ELSEWHERE
from taamctl.importing.messages import quoted as quoted
from taamctl.importing.options import one_listed
from taamctl.importing.ways import Unclear
from taamctl.importing.words import without_b

FEW = 10  # nodes: among fewer, a feature such as 0, 1, 2 is a permutation of row numbers by chance
FEWEST = 4  # nodes: among fewer, a feature that may be the ids is not asked about
SOME = 1000  # edges that are looked at before all are
_LIKE_AN_ID = re.compile(r"(^|[^a-zA-Z])([iI][dD][sx]?|uuid|guid)$|[a-z](I[dD]s?|Idx)$")
# a whole number as tables spell it; not what int() takes beyond that, such as 1_0
WHOLE = re.compile(r"([+-]?[0-9]{1,20})(\.0*)?")
# share of rows that may repeat a value of an id: such rows are an error to be named
MOST_TWICE = 0.1
# what pandas calls a column without a name, often the row number
UNNAMED = re.compile(r"Unnamed: \d+(\.\d+)*|__index_level_\d+__")


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


def ends_of(source: Array, target: Array, n: int) -> Ends:
    """Return the different ends of edges, without the nodes of a context; edges that may end there
    count no rows.

    Args:
        source, target: [E] numbers or text. n: number of nodes.
    """
    import pandas as pd

    different = [v for ends in (source, target) for v in pd.unique(np.asarray(ends)).tolist()]
    elsewhere = ELSEWHERE.get()
    every = frozenset(id_text(v) for v in different)
    text = every - elsewhere or every
    whole = whole_numbers(text)
    if whole is None:
        return Ends(text, None, False)
    numbers = frozenset(whole)
    by_row = bool(numbers) and not elsewhere
    return Ends(text, numbers, by_row and 0 <= min(numbers) <= max(numbers) < n)


def id_text(value: object) -> str:
    """Return an id as text; a whole number that was read as a float loses its `.0`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return without_b(str(value).strip())


def whole_numbers(ids: Iterable[str]) -> list[int] | None:
    """Return ids as whole numbers, however they are spelled (7, 007, 7.0); None where one is
    none.
    """
    found = [WHOLE.fullmatch(text) for text in ids]
    if not all(found):
        return None
    return [int(m[1]) for m in found if m]


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
    return one.dtype.kind in "iuO" and one.dtype == other.dtype and bool(np.array_equal(one, other))


def _holds(column: Array, ends: Ends) -> bool:
    """Tell whether a column has every end among its values, nearly all of which differ; cells of
    numbers may be empty.
    """
    if not _could_name(column, least=len(ends.text)):
        return False
    if column.dtype.kind == "f":
        column = column[~np.isnan(column)]
    text = {id_text(v) for v in column.tolist()}
    if ends.text <= text:
        return True
    numbers = whole_numbers(text)
    return ends.numbers is not None and numbers is not None and ends.numbers <= set(numbers)


def _could_name(column: Array, least: int = FEW) -> bool:
    """Tell whether a column holds text or whole numbers of which few stand twice."""
    import pandas as pd

    if column.ndim != 1 or column.dtype.kind not in "iufO" or len(column) < least:
        return False
    if column.dtype.kind == "f" and not are_whole(column[~np.isnan(column)]):
        return False
    try:
        return bool(pd.Series(column).nunique() >= (1 - MOST_TWICE) * len(column))
    except TypeError:  # cells that are lists or mappings
        return False


def are_whole(values: Array) -> bool:
    """Tell whether numbers are finite and whole."""
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


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
        TaamctlError: two columns hold every end, and not just one of them is called like an id; or
            one column does, and the ends can be row numbers as well.
    """
    found = holding(cell, names, ends)
    if not found:
        return "", ""
    others = _not_counting(cell, found)
    if not others:
        return found[0], "its values are the row numbers"
    others = _named(others) or others
    usual = [name for name in others if _LIKE_AN_ID.search(name)]
    sure = by_name or _told_apart(found, others, usual, ends)
    best = usual or others
    if sure and len(best) == 1:
        return best[0], _why_taken(others)
    if not sure and len(cell[found[0]]) < FEWEST:
        return "", ""
    raise _unclear(others, usual, ends, where)


def _named(names: Sequence[str]) -> list[str]:
    return [name for name in names if not UNNAMED.fullmatch(name)]


def _told_apart(
    found: Sequence[str], others: Sequence[str], usual: Sequence[str], ends: Ends
) -> bool:
    """Tell whether ends are names and no row numbers: they cannot be rows, or a column is called
    like an id, or `others` have names and stand beside a column without one that counts the rows:
    tables keep such an index by the way, and edges do not mean it.
    """
    beside_index = len(_named(others)) > 0 and len(_named(found)) < len(found)
    return not ends.are_rows or len(usual) > 0 or beside_index


def _why_taken(others: Sequence[str]) -> str:
    if len(others) == 1:
        return "the only column that holds every end of the edges"
    return f"the only one called like an id of {_listed(others)}, which hold every end"


def _unclear(others: Sequence[str], usual: Sequence[str], ends: Ends, where: str) -> TaamctlError:
    """Return the question which of `others` is the id; `usual` of them are called like one."""
    rows = ", or --ends rows: edges count the rows from 0" if ends.are_rows else ""
    options = [f"--id {quoted(name)}" for name in others]
    ways = " or ".join(options) + rows
    options += ["--ends rows"] * ends.are_rows
    if len(others) == 1:
        return Unclear(
            f"{where}: the ends of the edges can be the values of {others[0]!r} or row numbers, "
            "and that makes two graphs",
            f"say which: {ways}",
            options,
        )
    called = "more than one column has" if usual else "no column has"
    return Unclear(
        f"{where}: {called} a usual name of an id, and {_listed(others)} each hold every end of "
        "the edges",
        f"say which one names the nodes: {ways}",
        options,
    )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))


def called_like_ids(cell: Mapping[str, Array], names: Sequence[str]) -> list[str]:
    """Return the columns that are called like an id, and name every node once."""
    called = [name for name in names if _LIKE_AN_ID.search(name) and cell[name].ndim == 1]
    return [name for name in called if usable_names(cell[name], len(cell[name]))]


def refuse_rivals(
    cell: Mapping[str, Array],
    taken: str,
    names: Sequence[str],
    source: Array,
    target: Array,
    where: str,
) -> None:
    """Refuse an id column, taken for its name, where another column names every end of the edges
    and it does not, or counts the rows as the other does not.

    Args:
        taken: the id column. names: the columns without another meaning.

    Raises:
        TaamctlError: there is such a column.
    """
    few = ends_of(source[:SOME], target[:SOME], len(cell[taken]))  # rule out nearly every column
    rivals = _long_enough(cell, names, few)
    if not rivals:
        return
    ends = ends_of(source, target, len(cell[taken]))
    same = twins(cell, rivals, taken)
    found = [name for name in holding(cell, rivals, ends) if name not in same]
    if not found:
        return
    if not _holds(cell[taken], ends):
        raise _lacks_ends(taken, found, where)
    found = _not_counting(cell, found)
    if found and _counts_rows(cell[taken]):
        ways = [f"--id {quoted(name)}" for name in (taken, found[0])]
        raise Unclear(
            f"{where}: {taken!r} counts the rows, and {found[0]!r} names every end of the edges "
            "too: that makes two graphs",
            f"say which one the edges mean: {ways[0]} or {ways[1]}",
            ways,
        )


def _long_enough(cell: Mapping[str, Array], names: Sequence[str], few: Ends) -> list[str]:
    """Return the columns that hold some ends and have enough rows not to do so by chance."""
    return [name for name in names if _could_name(cell[name]) and _holds(cell[name], few)]


def _lacks_ends(taken: str, found: Sequence[str], where: str) -> Unclear:
    """Return the question whether `found` are the ids, and not a column that is called so."""
    s = "s" * (len(found) == 1)
    ways = _instead(found, taken)
    return Unclear(
        f"{where}: {taken!r} is called like an id, but lacks ends of the edges that "
        f"{_listed(found)} hold{s}",
        f"{' or '.join(ways)}: {_listed(found)} name{s} every end of the edges",
        ways,
    )


def _instead(found: Sequence[str], taken: str) -> list[str]:
    """Return the options that take another column for the ids, and leave out all others."""
    ways = []
    for name in found:
        others = [one_listed(other) for other in (taken, *found) if other != name]
        ignored = "".join(f" --ignore {quoted(other)}" for other in others)
        ways.append(f"--id {quoted(name)}{ignored}")
    return ways


def _not_counting(cell: Mapping[str, Array], names: Sequence[str]) -> list[str]:
    return [name for name in names if not _same_as_rows(cell[name])]


def _same_as_rows(column: Array, first: int = 0) -> bool:
    rows = range(first, first + len(column))
    return [id_text(v) for v in column.tolist()] == [str(row) for row in rows]


def _counts_rows(column: Array) -> bool:
    return _same_as_rows(column) or _same_as_rows(column, first=1)


def rows_or_ids(
    ids: Array, source: Array, target: Array, chosen: str, where: str, key: str
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
    source, target = np.ravel(source), np.ravel(target)
    names = [id_text(v) for v in np.ravel(ids).tolist()]
    ends = ends_of(source, target, len(names))
    kept_as_text = source.dtype.kind in "USO" and ends.text <= set(names)
    if ends.numbers is None or not ends.are_rows or kept_as_text:
        return False, ""
    row_of = _rows_by_number(names)
    if not ends.numbers <= row_of.keys():
        return True, f"{where}: the ends of the edges are row numbers; {key!r} names the nodes"
    moved = next((end for end in sorted(ends.numbers) if row_of[end] != end), None)
    if moved is None:
        return True, ""
    row = row_of[moved]
    raise Unclear(
        f"{where}: an edge to {moved} can mean row {moved}, or the node that {key!r} calls "
        f"{names[row]} (row {row}): that makes two graphs",
        "say which: --ends rows, or --ends ids",
        ("--ends rows", "--ends ids"),
    )


def _rows_by_number(names: Sequence[str]) -> dict[int, int]:
    """Return number -> row for names that are whole numbers, however they are spelled."""
    found = enumerate(WHOLE.fullmatch(name) for name in names)
    return {int(m[1]): row for row, m in found if m}


def hint_of_rows(source: Array, target: Array, n: int) -> str:
    """Return what to do where ends are no nodes' ids but can be row numbers; else an empty text."""
    if not ends_of(source, target, n).are_rows:
        return ""
    return "--ends rows, where edges count the rows from 0; else spell ids alike in both files"


def usable_names(ids: Array, n: int) -> bool:
    """Tell whether an array can name N nodes: one name each, none empty, none twice."""
    names = [id_text(v) for v in np.ravel(ids).tolist() if v is not None and v == v]
    return len(names) == n and len(set(names)) == n and all(names)
