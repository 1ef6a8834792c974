"""Rows of a table that are wrong: all at once, with their lines as an editor counts them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.arrow_tables import is_typed
from taamctl.importing.table_head import delimiter_of, names_and_skip, read_head
from taamctl.importing.tables import Table, opened

MOST = 10  # rows that are named


class BadRows(TaamctlError):
    """Cells that are not what they should be.

    Args:
        message, hint: as everywhere. rows: the numbers of their rows, from 0.
    """

    def __init__(self, message: str, hint: str, rows: Sequence[int]) -> None:
        super().__init__(message, hint)
        self.rows = tuple(rows)


def with_lines(error: BadRows, path: Path, delimiter: str, headed: bool) -> TaamctlError:
    """Return the fault with the lines of its rows in a text table; other tables have no lines."""
    if not path.is_file() or is_typed(path):
        return error
    lines = lines_of(path, delimiter, headed, error.rows[:MOST])
    if len(lines) < len(error.rows[:MOST]):
        return error
    s = "s" * (len(lines) > 1)
    more = f", and {len(error.rows) - MOST:,} more rows" if len(error.rows) > MOST else ""
    shown = ", ".join(f"{line:,}" for line in lines)
    return TaamctlError(f"{error.message}; line{s} {shown} of the file{more}", error.hint)


def lines_in(table: Table, delimiter: str) -> Callable[[BadRows], TaamctlError]:
    """Return what adds the lines of a table to a fault of some of its rows."""
    if table.dropped:  # rows are counted without those: their lines are not known
        return lambda error: error
    return lambda error: with_lines(error, Path(table.where), delimiter, table.headed)


def bad_rows(message: str, hint: str, wrong: Array) -> BadRows:
    """Return a fault of the rows where `wrong`, [N] bool, is set."""
    return BadRows(message, hint, np.flatnonzero(wrong).tolist())


def lines_of(path: Path, delimiter: str, headed: bool, rows: Sequence[int]) -> list[int]:
    """Return the line on which each of some rows begins, counted from 1; blank lines and comments
    before the rows are no rows.

    Args:
        rows: numbers of rows from 0, ascending.
    """
    found, row = list[int](), -1
    with opened(path) as stream:
        parts = delimiter_of(stream.read(4096), delimiter)
        stream.seek(0)
        _, skip = names_and_skip(read_head(stream, parts), headed)
        stream.seek(0)
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        cells_of = csv.reader(islice(text, skip, None), delimiter=parts)
        begin = skip
        for cells in cells_of:
            row += len(cells) > 1 or bool("".join(cells).strip())
            if row in rows and len(found) == rows.index(row):
                found.append(begin + 1)
            begin = skip + cells_of.line_num
            if len(found) == len(rows):
                break
        text.detach()
    return found


@contextmanager
def told_by_lines(lines: Callable[[BadRows], TaamctlError] | None) -> Iterator[None]:
    """Say faults of rows with their lines, where a file has some.

    Raises:
        TaamctlError: a fault of rows inside.
    """
    try:
        yield
    except BadRows as error:
        if lines is None:
            raise
        raise lines(error) from error
