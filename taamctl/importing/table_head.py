"""The top of a text table: what stands between its cells, which row comes first, and the names of
its columns, where it has them.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import chain
from typing import IO

from taamctl.core.errors import TaamctlError
from taamctl.importing.column_names import ENDS, ID, LABEL, PART, TASK, TIME, guess

DELIMITERS = ("\t", ",", ";", "|", " ")
SOME = 50  # lines that tell the delimiter
_SPELLED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}


@dataclass(frozen=True)
class Head:
    """What stands at the top of a table.

    Attributes:
        cells: the first row that is neither blank nor a comment.
        lines: the lines up to its end. before: those of comments before it.
        names: the names of the columns, where they stand in the last comment before it.
        inside: line ends inside the cells of that row.
    """

    cells: list[str]
    lines: int
    before: int
    names: list[str]
    inside: int = 0


def _commented_names(comment: list[str], cells: list[str]) -> list[str]:
    """Return the names that a comment gives to the columns below it; none where it is no header."""
    usual = (*ID, *LABEL, *TIME, *PART, *TASK, *chain(*ENDS))
    names = [cell for cell in comment if cell.strip()]
    fits = len(names) == len(cells) and guess(names, usual) and not guess(cells, usual)
    return names if fits else []


def _is_comment(cells: list[str], line: int) -> bool:
    """Tell whether a row is a comment, or the first line `sep=;`, for spreadsheets."""
    first = cells[0] if cells else ""
    return first.startswith(("#", "%")) or (line == 1 and first.lower().startswith("sep="))


def read_head(stream: IO[bytes], delimiter: str) -> Head:
    """Return what stands at the top of a table."""
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    before, comment = 0, list[str]()
    try:
        lines = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == " ")
        end = 0
        for cells in lines:
            begin, end = end, lines.line_num
            if _is_comment(cells, lines.line_num):
                before = lines.line_num
                comment = [cells[0].lstrip("#% "), *cells[1:]]
            elif any(c.strip() for c in cells):
                row = [c for c in cells if c or delimiter != " "]
                return Head(row, end, before, _commented_names(comment, row), end - begin - 1)
        return Head([], 0, 0, [])
    except UnicodeDecodeError as error:
        raise TaamctlError(
            f"{getattr(stream, 'name', 'the table')} is no UTF-8 text: {error.reason} at byte "
            f"{error.start}",
            "save it as UTF-8",
        ) from error
    except csv.Error as error:
        raise ValueError(str(error)) from error
    finally:
        text.detach()


def delimiter_of(first: bytes, stated: str = "", decimal: str = "") -> str:
    """Return the delimiter of a table: the one that the user states, or its first line (`sep=;`),
    else of those that the first line that counts has the first of the list, but one that parts
    every line alike before one that does not: names and decimals may hold a comma.

    Args:
        first: the table's first bytes.
    """
    if stated:
        return _SPELLED.get(stated, stated)
    lines = first.decode("utf-8-sig", "replace").splitlines()
    if lines and lines[0].lower().startswith("sep=") and len(lines[0]) == len("sep=;"):
        return lines[0][-1]
    if len(lines) > 1 and not first.endswith(b"\n"):
        del lines[-1]  # may be cut off
    counts = [line for line in lines if line.strip() and not line.startswith(("#", "%"))]
    return _guessed(counts, decimal)


def _guessed(lines: list[str], decimal: str) -> str:
    """Return the delimiter between the cells of some lines."""
    outside = "".join("".join(lines[:1]).strip(" ").split('"')[::2])  # not in quoted cells
    found = [d for d in DELIMITERS if d in outside and d != decimal]
    even = [d for d in found if d != " " and _parts_alike(lines[:SOME], d)]
    return next(iter(even or found), ",")


def _parts_alike(lines: list[str], delimiter: str) -> bool:
    """Tell whether every row has equally many cells between such delimiters."""
    try:
        widths = {len(cells) for cells in csv.reader(lines, delimiter=delimiter)}
    except csv.Error:
        return False
    return len(widths) == 1


def names_and_skip(head: Head, headed: bool) -> tuple[list[str], int]:
    """Return the names of a table's columns, and how many lines stand before its rows."""
    if head.names:
        return header(head.names), head.before
    if headed:
        return header(head.cells), head.lines
    # in one column, a blank line is an empty cell
    skip = head.before if len(head.cells) == 1 else head.lines - 1 - head.inside
    return [f"column {i}" for i in range(len(head.cells))], skip


def header(cells: list[str]) -> list[str]:
    """Return the cells of a header as names; a column without one is called as pandas calls it."""
    return [c.strip() or f"Unnamed: {i}" for i, c in enumerate(cells)]
