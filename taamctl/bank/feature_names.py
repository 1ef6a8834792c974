"""The columns of a graph's features in the order in which a bank learned them: matched by name,
whatever order the graph has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from taamctl.bank.graph_source import Query, Source
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array
from taamctl.graph.canonical import from_scipy, to_scipy

SHOWN = 5  # names in one message


class Reordered:
    """A query graph with its features in another order.

    Args:
        order: [F] column of the graph for every feature of the bank.
    """

    def __init__(self, query: Query, order: Array) -> None:
        self._query = query
        self._order = order
        self.num_nodes = query.num_nodes
        self.answered = query.answered
        self.num_features = query.num_features
        self.directed = query.directed
        self.before_names = query.before_names
        self.adjacency = query.adjacency
        self.names = query.names
        self.outside = query.outside

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names in the new order."""
        return tuple(self._query.feature_names[column] for column in self._order.tolist())

    def rows(self, low: int, high: int) -> Array:
        """Return the raw features of nodes [low, high) as dense float32."""
        return np.ascontiguousarray(self._query.rows(low, high)[:, self._order])


def order_of(
    learned: Sequence[str], given: Sequence[str], where: str, than: str = "the bank"
) -> Array | None:
    """Return the column of a graph for every feature of a bank, [F] int64; None where they stand in
    the bank's order already.

    Args:
        learned: names of the bank's features; empty where it has none. given: those of the graph.
        where: the graph, and than: what has the features of `learned`, for messages.

    Raises:
        TaamctlError: the graph lacks a feature, or has one that the bank does not know.
    """
    if not learned or not given or tuple(learned) == tuple(given):
        return None
    missing = _without(learned, given)
    surplus = _without(given, learned)
    if missing or surplus:
        faults = []
        if missing:
            faults.append(f"it lacks {_some(missing)}")
        if surplus:
            faults.append(f"{than} does not know {_some(surplus)}")
        raise TaamctlError(
            f"{where} has other features than {than}: {'; '.join(faults)}",
            f"give every node the features that {than} was made with, under the same names, in "
            "any order; leave others out with: taamctl data import ... --ignore NAME",
        )
    place = {name: column for column, name in enumerate(given)}
    return np.array([place[name] for name in learned], np.int64)


def unchecked(learned: Sequence[str], given: Sequence[str], before_names: bool) -> str:
    """Return what to say where the order of the features cannot be checked; empty where it can, or
    where arrays have no names.

    Args:
        before_names: the graph is a file from before names were kept.
    """
    if (learned and given) or not (learned or given or before_names):
        return ""
    lacking = "neither the bank nor the graph keeps"
    if given:
        lacking = "the bank does not keep"
    elif learned:
        lacking = "the graph does not keep"
    return (
        f"{lacking} the features' names: whether they stand in the bank's order cannot be checked"
    )


def reordered(source: Source, learned: Sequence[str], than: str = "the bank") -> Source:
    """Return a graph with its features in the order of the bank's, or of another graph's.

    Raises:
        TaamctlError: as `order_of`.
    """
    graph = source.graph
    order = order_of(learned, graph.feature_names, graph.name, than)
    if order is None:
        return source
    x = graph.features
    moved: Array | CSR
    if isinstance(x, CSR):
        moved = from_scipy(to_scipy(x)[:, order])
    else:
        moved = np.ascontiguousarray(x[:, order])
    return replace(source, graph=replace(graph, features=moved, feature_names=tuple(learned)))


def _without(names: Sequence[str], others: Sequence[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:SHOWN]))
    return f"{shown} and {len(names) - SHOWN:,} more" if len(names) > SHOWN else shown
