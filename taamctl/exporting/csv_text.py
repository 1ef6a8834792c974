"""Tables as text: commas between the cells, quotes around those that need them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

_MARKS = frozenset('",\r\n')


def cell(text: str) -> str:
    """Return a cell as CSV holds it."""
    if text and text == text.strip() and not _MARKS.intersection(text):
        return text
    return '"' + text.replace('"', '""') + '"' if text else ""


def line(cells: Iterable[str]) -> str:
    """Return a row, with its end."""
    return ",".join(map(cell, cells)) + "\n"


def write(path: Path, header: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(line(header))
        stream.writelines(map(line, rows))
