"""A graph from the files that a user has: which format they are in, which reader takes them, and what else is said about the nodes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ImportOptions:
    """Which column, attribute or key of the files means what; an empty name is guessed from the usual ones.

    Attributes:
        id: the nodes' names.
        label: the nodes' classes.
        features: names, or beginnings of names, of the features; empty: all numeric columns that mean nothing else.
        ignore: what is not read.
        source, target: the ends of an edge.
        time: when a node appeared.
        part: train, val or test.
        delimiter: what stands between the cells of a text table.
    """

    id: str = ""
    label: str = ""
    features: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    source: str = ""
    target: str = ""
    time: str = ""
    part: str = ""
    delimiter: str = ""
