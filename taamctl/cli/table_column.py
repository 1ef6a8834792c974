"""A column of a table on the terminal, and how many columns of the terminal a text takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column of a table on the terminal.

    Attributes:
        wrap: what does not fit goes on below, from word to word.
        fold: the same, in the middle of a word too.
    """

    name: str
    right: bool = False
    wrap: bool = False
    fold: bool = False

    @property
    def is_text(self) -> bool:
        """Tell whether its cells may take more than one line."""
        return self.wrap or self.fold


def longest_word(cells: Iterable[str]) -> int:
    """Return how many columns the longest word takes."""
    return max((width(word) for cell in cells for word in cell.split()), default=0)


def width(text: str) -> int:
    """Return how many columns a text takes: letters of the East take two."""
    from rich.cells import cell_len

    return max((cell_len(line) for line in text.splitlines()), default=0)
