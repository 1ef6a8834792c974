"""What is said of an array of an artefact, and of a kind of artefact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One HDF5 data set of an artefact: its dtype, dimension labels and meaning; `optional`
    where a switch decides; `since` which version of the kind it is written.
    """

    dtype: str
    dims: tuple[str, ...]
    doc: str
    optional: bool = False
    since: int = 1


@dataclass(frozen=True)
class Kind:
    """One kind of artefact: its version and entries.

    `open_entries` admits further ones (a method's own state). `later_attributes` are those root
    attributes that came after version 1, each with the version since which it is written.
    """

    version: int
    doc: str
    entries: dict[str, Entry]
    open_entries: bool = False
    later_attributes: Mapping[str, int] = field(default_factory=dict)
