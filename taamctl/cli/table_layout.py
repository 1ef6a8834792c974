"""How a table of the terminal is laid out: whole where it fits, else as tables below each other,
else a heading per row with `name: value` below it. Nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from taamctl.cli import table_column
from taamctl.cli.table_column import Column

Cells = Sequence[str]
NARROW = 20  # columns that text keeps, where it has that many; narrower it reads badly
MOST = 3  # tables below each other; of more, lines per row read better


@dataclass(frozen=True)
class Part:
    """Columns that stand beside each other: which ones, and how wide each is."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]


def parts(
    columns: Sequence[Column], rows: Sequence[Cells], width: int, *, gap: int, keys: int
) -> list[Part]:
    """Return the tables that show all columns within `width`; none where lines have to do.

    Args:
        width: of the terminal, in columns.
        gap: blanks after each column.
        keys: how many of the first columns tell the rows apart: every table begins with them.
    """
    every = tuple(range(len(columns)))
    whole = _fitted(every, columns, rows, width, gap)
    if whole is not None:
        return [whole]
    if any(column.is_text for column in columns):
        return []
    found: list[Part] = []
    left = every[keys:]
    while left and len(found) < MOST:
        part = _widest(every[:keys], left, columns, rows, width, gap)
        if part is None:
            return []
        found.append(part)
        left = left[len(part.shown) - keys :]
    return [] if left else found


def _widest(
    first: tuple[int, ...],
    left: tuple[int, ...],
    columns: Sequence[Column],
    rows: Sequence[Cells],
    width: int,
    gap: int,
) -> Part | None:
    """Return as many of the columns that are left as fit beside the first ones."""
    for many in range(len(left), 0, -1):
        part = _fitted(first + left[:many], columns, rows, width, gap)
        if part is not None:
            return part
    return None


def _fitted(
    shown: tuple[int, ...], columns: Sequence[Column], rows: Sequence[Cells], width: int, gap: int
) -> Part | None:
    """Return widths within which nothing is cut, or None: headings break between words first, then
    the widest texts.
    """
    cells = [[columns[at].name, *(row[at] for row in rows)] for at in shown]
    widths = [max(map(table_column.width, column)) for column in cells]
    least = [_least(columns[at], column) for at, column in zip(shown, cells, strict=True)]
    while sum(widths) + gap * (len(shown) - 1) > width:
        at = max(range(len(shown)), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[at] <= least[at]:
            return None
        widths[at] -= 1
    return Part(shown, tuple(widths))


def _least(column: Column, cells: Cells) -> int:
    """Return the fewest columns that a heading, and the cells below it, read well in."""
    word = table_column.longest_word(cells[:1])
    natural = max(map(table_column.width, cells))
    if column.fold:
        return max(word, min(NARROW, natural))
    if column.wrap:
        return max(table_column.longest_word(cells), min(NARROW, natural))
    return max(word, *map(table_column.width, cells[1:]), 0)


def heading(columns: Sequence[Column], row: Cells, keys: int) -> str:
    """Return what tells a row from the others; a bare number is named."""
    found = []
    for column, cell in zip(columns[:keys], row, strict=False):
        found.append(f"{column.name} {cell}" if re.fullmatch(r"[\d.,]+", cell) else cell)
    return "  ".join(cell for cell in found if cell)


def lines(columns: Sequence[Column], row: Cells, keys: int, width: int) -> list[str]:
    """Return `name: value` of every other column that says something in this row, as many on a line
    as fit within `width`.
    """
    found: list[str] = []
    for column, cell in zip(columns[keys:], row[keys:], strict=True):
        pair = f"{column.name}: {cell}" if column.name else cell
        if not cell:
            continue
        if found and table_column.width(f"{found[-1]}; {pair}") <= width:
            found[-1] += f"; {pair}"
        else:
            found.append(pair)
    return found
