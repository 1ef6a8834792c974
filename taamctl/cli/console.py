"""Where text goes: data to stdout, everything for people to stderr; understandable without
colour.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from taamctl.cli import table_layout
from taamctl.cli.table_column import Column as Column

if TYPE_CHECKING:
    from rich.console import Console

    from taamctl.cli.table_layout import Part


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
    keys: int = 1,
    gap: int = 2,
    title: str | None = None,
    notes: Iterable[str] = (),
) -> None:
    """Print a table without lines on stdout, whole at any width.

    Args:
        keys: how many of the first columns tell the rows apart.
        gap: blanks between the columns.
        notes: lines below.
    """
    out = sheet()
    columns, rows = tuple(columns), [tuple(row) for row in rows]
    if title is not None:
        out.print(title, style="italic", soft_wrap=not out.is_terminal)
    found = table_layout.parts(columns, rows, out.width, gap=gap, keys=keys)
    for at, part in enumerate(found):
        out.print("\n" * (at > 0), end="")
        _print_part(out, columns, rows, part, gap)
    if not found:
        _print_lines(out, columns, rows, keys)
    for note in notes:
        out.print(note, style="dim", soft_wrap=not out.is_terminal)


def _print_part(
    out: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], part: Part, gap: int
) -> None:
    """Print some columns beside each other, each as wide as `part` says."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for at, width in zip(part.shown, part.widths, strict=True):
        table.add_column(columns[at].name, width=width, overflow="fold")
        if columns[at].right:
            table.columns[-1].justify = "right"
    for row in rows:
        table.add_row(*(Text(row[at]) for at in part.shown))
    out.print(table)


def _print_lines(
    out: Console, columns: Sequence[Column], rows: Sequence[Sequence[str]], keys: int
) -> None:
    """Print a heading per row, and what else it says below."""
    from rich.text import Text

    width = out.width - 2
    for row in rows:
        out.print(table_layout.heading(columns, row, keys), style="bold")
        for line in table_layout.lines(columns, row, keys, width):
            for piece in Text(line).wrap(out, width):
                out.print("  ", piece, sep="")


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
