"""Nodes and edges as formats of one file hold them, every node with attributes of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from taamctl.core.types import Array


class HasElements(Protocol):
    """What a reader of such a format has read.

    Attributes:
        ids: the names of the nodes, in the file's order.
        sources, targets, both: the ends of every edge, and whether it goes both ways.
        edge_keys: the names of the edges' attributes.
    """

    ids: list[str]
    sources: list[str]
    targets: list[str]
    both: list[bool]
    edge_keys: set[str]

    def columns(self) -> dict[str, Array]:
        """Return the attributes of the nodes as columns."""


@dataclass
class Elements:
    """Nodes with their attributes, as dictionaries, and edges.

    Attributes:
        cells: the attributes of every node.
    """

    ids: list[str]
    cells: Sequence[Mapping[str, object]]
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    both: list[bool] = field(default_factory=list)
    edge_keys: set[str] = field(default_factory=set)

    def columns(self) -> dict[str, Array]:
        """Return the attributes as columns: numbers where every node has one, else text."""
        names = dict.fromkeys(name for cells in self.cells for name in cells)
        return {name: _column([cells.get(name) for cells in self.cells]) for name in names}


def _column(values: list[object]) -> Array:
    if all(isinstance(value, (int, float)) and abs(value) < 1 << 62 for value in values):
        return np.array(values)
    return np.array([_spelled(value) for value in values] + [None], object)[:-1]


def _spelled(value: object) -> str:
    """Return a value as a table spells it: a list as a vector, nothing for None."""
    return "" if value is None else str(value)
