"""A graph beside another one whose nodes are its neighbours: new nodes see the old ones that they
link to, and nothing is asked or learned of those.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taamctl.bank import feature_names
from taamctl.bank.graph_source import Query, Source
from taamctl.bank.node_record import names_of
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Array, Given, NodeGraph
from taamctl.graph.canonical import from_scipy, to_scipy

SHOWN = 10  # nodes in a message
NEW = "the graph beside it"


class Joined:
    """The nodes of a query, then those of its context, with the edges of both and between them.

    Args:
        query: the graph whose nodes want classes.
        context: the graph of their neighbours, with its features in the query's order.

    Raises:
        TaamctlError: the query keeps no edge to another graph, or one to a node that this one
            lacks; other features.
    """

    def __init__(self, query: Query, context: Query) -> None:
        self._query = query
        self._context = context
        self._outside = _required(query.outside())
        self._places = _places(self._outside, context.names(), context.num_nodes)
        _require_width(query.num_features, context.num_features)
        self.answered = query.num_nodes
        self.num_nodes = query.num_nodes + context.num_nodes
        self.num_features = query.num_features
        self.directed = query.directed
        self.before_names = query.before_names or context.before_names
        self.names = query.names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the query's features."""
        return self._query.feature_names

    def adjacency(self) -> CSR:
        """Return the edges of both graphs and between them, [N, N] binary."""
        return joined_edges(
            self._query.adjacency(), self._context.adjacency(), self._outside, self._places
        )

    def rows(self, low: int, high: int) -> Array:
        """Return the raw features of nodes [low, high) as dense float32."""
        cut = self.answered
        blocks = []
        if low < cut:
            blocks.append(self._query.rows(low, min(high, cut)))
        if high > cut:
            blocks.append(self._context.rows(max(low, cut) - cut, high - cut))
        return np.concatenate(blocks)

    def outside(self) -> Outside | None:
        """Return None: every edge has found its other end."""
        return None


def beside(query: Query, context: Query) -> Joined:
    """Return a graph and its context as one, the features of both matched by name.

    Raises:
        TaamctlError: as `Joined`.
    """
    order = feature_names.order_of(query.feature_names, context.feature_names, "the context", NEW)
    if order is not None:
        context = feature_names.Reordered(context, order)
    return Joined(query, context)


def joined(source: Source, context: Source) -> Source:
    """Return a labelled graph and its context as one graph in memory; no node of the context has a
    label, a part or a time.

    Raises:
        TaamctlError: as `Joined`.
    """
    graph = source.graph
    other = feature_names.reordered(context, graph.feature_names, NEW).graph
    outside = _required(graph.outside)
    places = _places(outside, other.given.node_id, other.num_nodes)
    _require_width(graph.num_features, other.num_features)
    more = other.num_nodes
    whole = replace(
        graph,
        adjacency=joined_edges(graph.adjacency, other.adjacency, outside, places),
        features=_stacked(graph.features, other.features),
        labels=np.concatenate([graph.labels, np.full(more, -1, np.int64)]),
        given=_padded(graph, other),
        outside=None,
    )
    return replace(source, graph=whole, context=more)


def joined_edges(own: CSR, other: CSR, outside: Outside, places: Array) -> CSR:
    """Return the edges inside two graphs and between them, the nodes of the second after those of
    the first.

    Args:
        places: [K] row of the other node of every edge between them, in its own graph.
    """
    import scipy.sparse as sp

    n = own.shape[0]
    far = places + n
    receives = np.where(outside.into, outside.row, far)
    sends = np.where(outside.into, far, outside.row)
    nodes = n + other.shape[0]
    pointer = np.concatenate([own.indptr, own.nnz + other.indptr[1:]])
    inside = CSR(
        pointer, np.concatenate([own.indices, other.indices + np.int32(n)]), None, (nodes, nodes)
    )
    between = sp.csr_matrix((np.ones(len(far), np.int8), (receives, sends)), shape=inside.shape)
    return from_scipy(to_scipy(inside, np.int8) + between, binary=True)


def unused(outside: Outside | None) -> str:
    """Return what to say of edges to another graph where none is named; empty without any."""
    if outside is None:
        return ""
    others = len(set(outside.name.tolist()))
    return (
        f"{len(outside):,} edges to {others:,} nodes of another graph are not used: --context "
        "names it"
    )


def _required(outside: Outside | None) -> Outside:
    if outside is None:
        raise TaamctlError(
            "--context: the graph keeps no edge to a node of another one",
            "import it with the same --context, or leave --context out",
        )
    return outside


def _require_width(features: int, others: int) -> None:
    if features != others:
        raise TaamctlError(
            f"the context has {others:,} features per node, the graph {features:,}",
            "both have the same features",
        )


def _places(outside: Outside, names: Array | None, nodes: int) -> Array:
    """Return the row of every edge's other end in the context, [K] int64."""
    known = map(str, range(nodes)) if names is None else names.tolist()
    row_of = {name: row for row, name in enumerate(known)}
    wanted = outside.name.tolist()
    lacking = sorted({name for name in wanted if name not in row_of})
    if lacking:
        some = ", ".join(map(repr, lacking[:SHOWN])) + ", ..." * (len(lacking) > SHOWN)
        raise TaamctlError(
            f"the context lacks {len(lacking):,} nodes that edges lead to ({some})",
            "name the graph that the other was imported with: --context NAME|FILE",
        )
    return np.array([row_of[name] for name in wanted], np.int64)


def _stacked(own: Array | CSR, other: Array | CSR) -> Array | CSR:
    import scipy.sparse as sp

    if isinstance(own, np.ndarray) and isinstance(other, np.ndarray):
        return np.concatenate([own, other])
    blocks = [to_scipy(x) if isinstance(x, CSR) else sp.csr_matrix(x) for x in (own, other)]
    return from_scipy(sp.vstack(blocks))


def _padded(graph: NodeGraph, other: NodeGraph) -> Given:
    """Return what a graph states of its nodes, and of those of another one their names alone."""
    given, more = graph.given, other.num_nodes
    part, time = given.part, given.time
    names = [*names_of(graph), *names_of(other)]
    if part is not None:
        part = np.concatenate([part, np.full(more, -1, np.int8)])
    if time is not None:
        time = np.concatenate([time, np.full(more, np.nan)])
    return replace(given, part=part, time=time, node_id=np.array(names, object))
