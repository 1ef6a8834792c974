"""A table that stands in no file of its own: in a data base, or in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from taamctl.core.types import Array


@dataclass(frozen=True)
class HeldTable:
    """A table with names of columns and types, as a reader of tables takes it beside a path.

    Attributes:
        where: what holds it, for messages.
        name: what it is called.
        columns: name -> [rows], numbers or objects, or [rows, width].
    """

    where: str
    name: str
    columns: Mapping[str, Array]

    def __str__(self) -> str:
        """Return where it is, as messages show it."""
        return self.where


TableSource = Path | HeldTable


def suffix_of(source: TableSource) -> str:
    """Return the suffix of a file in lower case; a table in memory has none."""
    return getattr(source, "suffix", "").lower()


def unzipped_suffix(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of gzip."""
    return Path(path.name.lower().removesuffix(".gz")).suffix
