"""Where text goes: data to stdout, everything for people to stderr; understandable without
colour.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Column:
    """A column of a table on the terminal.

    Attributes:
        wrap: what does not fit goes on below, from word to word; else it is cut.
        fold: the same, in the middle of a word too.
    """

    name: str
    right: bool = False
    wrap: bool = False
    fold: bool = False
    max_width: int | None = None


def sheet() -> Console:
    """Return a rich console on stdout; a pipe has no width, so nothing is folded there."""
    from rich.console import Console

    out = Console(highlight=False, markup=False)
    if out.is_terminal:
        return out
    return Console(highlight=False, markup=False, width=5000)


def print_table(
    columns: Iterable[Column],
    rows: Iterable[Sequence[str]],
    *,
    gap: int = 2,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Print a table without lines on stdout, `gap` blanks between its columns, `notes` below."""
    from rich.table import Table

    out = sheet()
    table = Table(
        box=None, padding=(0, gap, 0, 0), pad_edge=False, title=title, title_justify="left"
    )
    for column in columns:
        table.add_column(
            column.name,
            justify="right" if column.right else "left",
            no_wrap=not (column.wrap or column.fold),
            overflow="fold" if column.fold else "ellipsis",
            max_width=column.max_width,
        )
    for row in rows:
        table.add_row(*row)
    out.print(table)
    for note in notes:
        out.print(note, style="dim", soft_wrap=not out.is_terminal)


def say(line: str) -> None:
    """Write one line for people to stderr; work goes on where nobody can read it any more."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def teller(quiet: bool) -> Callable[[str], None]:
    """Return what a stage says its lines with."""
    if quiet:
        return lambda line: None
    return say


def show_error(message: str, hint: str) -> None:
    """Write an error and its hint to stderr."""
    say(f"error: {message}")
    if hint:
        say(f"hint: {hint}")
