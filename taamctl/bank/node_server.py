"""One node at a time: its class from the rows of its neighbourhood, by a bank that stays loaded.

A node's answer depends on the features of the nodes from which it can be reached in `radius` steps,
on the edges among them, and on how many neighbours each of them has in the whole graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from taamctl.bank import feature_names as names_of_features
from taamctl.bank.graph_source import normalised
from taamctl.bank.open_bank import OpenBank
from taamctl.bank.predictor import Predictor
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm, normalise
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.propagation.operator import Operator, build
from taamctl.stream.induce import message_edges

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix, spmatrix

GIVEN = "the neighbourhood"  # its name in messages
FULL = 1 / 8  # of the weights of a power that are not zero: above, a full matrix is faster
AT_ONCE = 64  # nodes whose weights are a full matrix


@dataclass(frozen=True)
class NodeAnswer:
    """What a bank says of one node.

    Attributes:
        label: name of its class. task: number of the task that owns the class.
        confidence: in (0, 1], as in `Answers`.
        novelty: standard deviations below the training mean of its likeliest class; NaN where the
            server never says unknown.
        unknown: whether that is so far that no class fits.
    """

    label: str
    task: int
    confidence: float
    novelty: float
    unknown: bool


class NodeServer:
    """Answer single nodes as `Bank.predict` answers them in the whole graph, to rounding.

    Attributes:
        radius: how far the neighbourhood reaches that a node's answer needs, in steps against the
            direction of the edges. One more than the hops of the features where the node may be
            called unknown, as novelty is averaged over neighbours.
    """

    def __init__(
        self,
        bank: OpenBank,
        predictor: Predictor,
        *,
        directed: bool = False,
        feature_names: Sequence[str] = (),
    ) -> None:
        self._bank = bank
        self._predictor = predictor
        self._directed = directed
        self._order = names_of_features.order_of(
            bank.shared.feature_names, feature_names, "the server"
        )
        self._width = bank.manifest.num_features
        self._hops = predictor.hops_wanted()
        self._around = predictor.says_unknown
        self.radius = max(self._hops) + self._around
        self._task_of = np.repeat(
            [task.number for task in bank.manifest.tasks],
            [len(task.classes) for task in bank.manifest.tasks],
        )
        assert bank.manifest.feature_norm is not None
        self._norm = bank.shared.norm(bank.manifest.feature_norm)
        predictor.warm_up()

    def answer(
        self,
        x: ArrayLike | spmatrix,
        edges: ArrayLike,
        node: int = 0,
        degree: ArrayLike | None = None,
    ) -> NodeAnswer:
        """Return the class of one node.

        Args:
            x: [n, F] raw features of the nodes of the neighbourhood, in any order, dense or a SciPy
                matrix.
            edges: [2, E] the edges among them, sources first, as positions in `x`. Where `degree`
                is given, those between two different nodes that are both `radius` steps away may be
                left out.
            node: position of the node that is asked about.
            degree: [n] in the whole graph, from how many other nodes each node receives: where
                edges go both ways, its number of neighbours. None: as `edges` has it, which is
                right for a neighbourhood that reaches one step further than `radius`.

        Raises:
            TaamctlError: shapes or numbers that do not fit the bank or each other.
        """
        rows = _checked(x, self._width)
        n = rows.shape[0]
        operator = self._operator(edges, degree, n)
        if not isinstance(node, (int, np.integer)) or not 0 <= node < n:
            raise TaamctlError(
                f"node {str(node)[:60]} of a neighbourhood of {n:,} nodes",
                "name the node by its position among the rows",
            )
        reach = _weights(operator, node, max(self._hops), around=self._around)
        held = self._hop_rows(rows, reach)
        routed = self._predictor.node_by_node(held, len(reach.nodes))
        novelty = (routed.novelty[0] + reach.own @ routed.novelty / reach.own.sum()) / 2
        first = replace(routed.first(1), novelty=np.array([novelty]))
        label, confidence = self._predictor.decide(held, operator.degree[[node]], first, 1)
        return NodeAnswer(
            self._bank.manifest.classes[label[0]],
            int(self._task_of[label[0]]),
            float(confidence[0]),
            float(novelty) if self._around else float("nan"),
            bool(self._predictor.unknown(first)[0]),
        )

    def _operator(self, edges: ArrayLike, degree: ArrayLike | None, n: int) -> Operator:
        """Return S of the neighbourhood, with the degrees of the whole graph."""
        config = self._bank.config
        source, target = _ends(edges)
        adjacency, _ = adjacency_from_edges(source, target, n, GIVEN)
        used = message_edges(adjacency, config.split.symmetrize, self._directed)
        operator = build(used, config.precompute.self_loops)
        if degree is None:
            return operator
        return replace(operator, degree=_whole_degree(operator, used, _array("degree", degree)))

    def _hop_rows(self, rows: Array | csr_matrix, reach: _Reach) -> _Held:
        """Return S^j X of the nodes that are looked at, float32."""
        x = rows if len(reach.within) == rows.shape[0] else rows[reach.within]
        if self._order is not None:
            x = x[:, self._order]
        held = _Normalised.of(x, self._norm)
        return _Held({j: held.times(reach.powers[j]) for j in self._hops})


@dataclass(frozen=True)
class _Normalised:
    """Normalised features of some nodes, [w, F] float64: an array, or a SciPy matrix."""

    x: Array | csr_matrix

    @staticmethod
    def of(x: Array | csr_matrix, norm: Norm) -> _Normalised:
        """Normalise as the bank does, in float32."""
        if isinstance(x, np.ndarray):
            return _Normalised(normalised(np.ascontiguousarray(x), norm).astype(np.float64))
        found = normalise(from_scipy(x), norm)
        assert isinstance(found, CSR)
        return _Normalised(to_scipy(found, np.float64))

    def times(self, weights: csr_matrix) -> Array:
        """Return weights @ x, dense float32; the weights of hop 0 pick rows."""
        if isinstance(self.x, np.ndarray) or weights.nnz < FULL * np.prod(weights.shape):
            return np.asarray(_dense(weights @ self.x), np.float32)
        # Weights that reach most rows are multiplied as a full matrix, some nodes at a time.
        out = np.empty((weights.shape[0], self.x.shape[1]), np.float32)
        for low in range(0, len(out), AT_ONCE):
            full = weights[low : low + AT_ONCE].toarray(order="F")
            out[low : low + AT_ONCE] = (self.x.T @ full.T).T
        return out


@dataclass(frozen=True)
class _Held:
    """Hop features that are in memory."""

    hops: Mapping[int, Array]

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return some rows."""
        return self.hops[hop][low:high]


@dataclass(frozen=True)
class _Reach:
    """The weights with which rows of a neighbourhood add up to hop features.

    Attributes:
        nodes: [m] the node, then those whose novelty is averaged with its own.
        own: [m] entries of S that the node receives them with.
        within: [w] rows that count at all, ascending.
        powers: [m, w] S^j for j = 0, 1, ..., as SciPy matrices.
    """

    nodes: Array
    own: Array
    within: Array
    powers: Sequence[csr_matrix]


def _weights(operator: Operator, node: int, hops: int, *, around: bool) -> _Reach:
    s = operator.scipy()
    nodes = np.array([node])
    if around:
        row = s.indices[s.indptr[node] : s.indptr[node + 1]]
        nodes = np.concatenate([nodes, row[row != node]])
    own = s[node][:, nodes].toarray()[0]
    powers = [_identity(s.shape[0])[nodes]]
    for _ in range(hops):
        powers.append((powers[-1] @ s).tocsr())
    # a node has a loop in S: what a power reaches, the next one reaches too
    reached = np.zeros(s.shape[0], bool)
    reached[powers[-1].indices] = True
    within = np.flatnonzero(reached)
    return _Reach(nodes, own, within, [p[:, within] for p in powers])


def _identity(n: int) -> csr_matrix:
    import scipy.sparse as sp

    return sp.identity(n, format="csr")


def _whole_degree(operator: Operator, edges: CSR, degree: Array) -> Array:
    """Return row sums of the adjacency of the whole graph, self-loops as in the operator."""
    n = len(operator.degree)
    rows = np.repeat(np.arange(n), np.diff(edges.indptr))
    others = np.bincount(rows[edges.indices != rows], minlength=n)
    if degree.shape != (n,) or not np.issubdtype(degree.dtype, np.integer):
        raise TaamctlError(
            f"degree is {degree.dtype} {degree.shape}, expected whole numbers ({n},)",
            "give for every row from how many other nodes it receives in the whole graph",
        )
    short = np.flatnonzero(degree < others)
    if len(short):
        at = int(short[0])
        raise TaamctlError(
            f"degree of row {at} is {degree[at]}, but the edges alone give it {others[at]} "
            "neighbours",
            "count every neighbour of the whole graph once, itself not",
        )
    return np.asarray(degree + (operator.degree - others), np.float64)


def _ends(edges: ArrayLike) -> tuple[Array, Array]:
    found = _array("edges", edges)
    if found.size == 0:
        found = np.zeros((2, 0), np.int64)
    if found.ndim != 2 or len(found) != 2:
        raise TaamctlError(
            f"edges are an array of shape {found.shape}, expected (2, E)",
            "give sources in the first row and targets in the second",
        )
    return found[0], found[1]


def _array(name: str, given: ArrayLike, kind: type[np.generic] | None = None) -> Array:
    """Return an array; text among numbers and rows of unequal length make none."""
    try:
        return np.asarray(given, kind)
    except (TypeError, ValueError) as error:
        raise TaamctlError(
            f"{name} is no array of numbers: {str(error)[:100]}",
            "give numbers, as many in every row",
        ) from None


def _csr(x: spmatrix) -> csr_matrix:
    return x.tocsr().astype(np.float32, copy=False)


def _dense(x: Array | csr_matrix) -> Array:
    return x if isinstance(x, np.ndarray) else x.toarray()


def _checked(x: ArrayLike | spmatrix, width: int | None) -> Array | csr_matrix:
    """Return the rows as float32, an array or a SciPy matrix."""
    with np.errstate(over="ignore"):  # what float32 does not hold is infinite, and refused below
        rows = _csr(x) if hasattr(x, "tocsr") else _array("x", x, np.float32)
    if rows.ndim != 2 or rows.shape[1] != width:
        raise TaamctlError(
            f"x is an array of shape {rows.shape}, expected (n, {width}): a row per node",
            "give every node the features that the bank was made with, in the same order",
        )
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if not np.isfinite(values).all():
        at = np.argwhere(~np.isfinite(_dense(rows)))[0].tolist()
        raise TaamctlError(
            f"x: feature {at[1]} of row {at[0]} is not finite", "give every node finite features"
        )
    return rows
