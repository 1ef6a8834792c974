"""One (task, part) on its own: its features are propagated over its own edges, a block of
columns at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from taamctl.core.rows import block_rows
from taamctl.core.slices import Slices
from taamctl.core.types import CSR, Array
from taamctl.features import profiles
from taamctl.graph.canonical import to_scipy
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import NO_PAIRS, Operator, build


class Blocks(Protocol):
    """A matrix [N, F] float32 that is read, and may be written, by blocks of `width` columns,
    and read by rows.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Return (N, F)."""

    @property
    def width(self) -> int:
        """Return how many columns a block has; the last one may have fewer."""

    def columns(self, at: int) -> Array:
        """Return the column block that begins at column `at`, C-contiguous."""

    def rows(self, low: int, high: int) -> Array:
        """Return rows [low, high), dense."""

    def write_columns(self, at: int, z: Array) -> None:
        """Replace the column block that begins at column `at`."""


class InMemory:
    """A matrix in memory; CSR is only read."""

    def __init__(self, x: Array | CSR, width: int) -> None:
        self.x, self.width, self.shape = x, max(1, min(width, x.shape[1])), (x.shape[0], x.shape[1])
        self._by_column: Any = to_scipy(x).tocsc() if isinstance(x, CSR) else x

    def columns(self, at: int) -> Array:
        """Return a column block."""
        block = self._by_column[:, at : at + self.width]
        return np.ascontiguousarray(
            block.toarray() if isinstance(self.x, CSR) else block, np.float32
        )

    def rows(self, low: int, high: int) -> Array:
        """Return some rows."""
        return (
            np.asarray(to_scipy(self.x.rows(low, high)).toarray())
            if isinstance(self.x, CSR)
            else self.x[low:high]
        )

    def write_columns(self, at: int, z: Array) -> None:
        """Replace a column block."""
        assert not isinstance(self.x, CSR)
        self.x[:, at : at + z.shape[1]] = z


@dataclass(frozen=True)
class Group:
    """What follows from one group.

    Attributes:
        operator: S over its N rows.
        x: raw features, normalised as asked. filled: how many of them are not zero. h: S^k X.
        spread: [N] float64. hop_mean: [J, F] float64. ls_mean: [2, F] float64.
    """

    operator: Operator
    x: Blocks
    h: Blocks
    filled: int
    spread: Array
    hop_mean: Array
    ls_mean: Array

    def entries(self, params: PrecomputeParams) -> dict[str, Array | Slices]:
        """Return everything that is stored of the group, by entry name; what is as large as X
        comes in slices of rows.
        """
        out: dict[str, Array | Slices] = {
            "deg": self.operator.degree,
            "H": Slices(self.h.shape, lambda: by_rows(self.h)),
            "spread": self.spread,
            "hop_mean": self.hop_mean,
            "ls_mean": self.ls_mean,
        }
        if params.store_x:
            out |= raw_entries(self.x, self.filled)
        if params.store_edges:
            out["indptr"], out["indices"] = edge_entries(self.operator)
        return out


def compute(
    x: Blocks,
    h: Blocks,
    edges: CSR,
    index: int,
    params: PrecomputeParams,
    tick: Callable[[], None] = lambda: None,
) -> Group:
    """Propagate one group.

    Args:
        x: its raw features. h: where S^k X goes; blocks as wide as those of `x`.
        edges: [N, N] binary.
        index: its number, which the random ties of the LS profile depend on.
        tick: called again and again; may raise to stop.

    Returns:
        The group; its numbers do not depend on the width of a block.
    """
    operator = build(edges, params.self_loops)
    n, f = x.shape
    tick()
    pairs = (
        profiles.reconnected(operator, 0, n, index, params.ls_seed)
        if params.ls_reconnect
        else NO_PAIRS
    )
    weights = np.concatenate(
        [
            profiles.hop_weights(operator, params.max_hop),
            profiles.ls_weights(operator, params.ls_hops, pairs),
        ],
        axis=1,
    )
    tick()
    means, filled, step = np.zeros((weights.shape[1], f)), 0, BACKENDS[params.backend](operator)
    for at in range(0, f, x.width):
        z = x.columns(at)
        filled += int(np.count_nonzero(z))
        means[:, at : at + x.width] = profiles.weighted_sums(weights, z) / max(1, n)
        for _ in range(params.hops):
            z = step(z)
            tick()
        h.write_columns(at, z)
        tick()
    return Group(
        operator, x, h, filled, profiles.spread(operator, params.hops), means[:-2], means[-2:]
    )


def by_rows(x: Blocks) -> Iterator[Array]:
    """Yield all rows, a few at a time."""
    n, step = x.shape[0], block_rows(x.shape[1])
    for low in range(0, n, step):
        yield x.rows(low, min(n, low + step))


def raw_entries(x: Blocks, filled: int) -> dict[str, Array | Slices]:
    """Return raw features as `x`, dense, where at least half of the group's values are not zero,
    else as CSR arrays.
    """
    n, f = x.shape
    if 2 * filled >= n * f:
        return {"x": Slices((n, f), lambda: by_rows(x))}
    lengths: list[Array] = [np.count_nonzero(block, axis=1) for block in by_rows(x)]
    return {
        "x_indptr": np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
        "x_indices": Slices(
            (filled,), lambda: (CSR.of_dense(block).indices for block in by_rows(x))
        ),
        "x_data": Slices((filled,), lambda: (block[np.nonzero(block)] for block in by_rows(x))),
    }


def edge_entries(operator: Operator) -> tuple[Array, Array]:
    """Return one group's edges with self-loops: row pointer, and sending nodes; a loop of weight
    2 is stored twice.
    """
    a = operator.adjacency
    if a.data is None:
        return a.indptr, a.indices
    twice = np.flatnonzero(a.data == 2.0)
    more = np.searchsorted(twice, a.indptr)
    return a.indptr + more, np.insert(a.indices, twice, a.indices[twice])
