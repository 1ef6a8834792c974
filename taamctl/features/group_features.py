"""What is stored of one (task, part): its features propagated over its own edges, a block of
columns at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taamctl.core.rows import of_whole
from taamctl.core.slices import Slices
from taamctl.core.types import CSR, Array
from taamctl.features import column_sizes, profiles
from taamctl.features.raw_features import Norm, empty_like, in_memory
from taamctl.features.split_parts import Parts
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.column_blocks import Blocks, by_rows
from taamctl.propagation.operator import NO_PAIRS, Operator, build
from taamctl.propagation.powers import write_hops
from taamctl.propagation.reconnection import reconnected


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

    def stored(self, params: PrecomputeParams) -> dict[str, Array]:
        """Return `entries` with every array whole."""
        found = self.entries(params).items()
        return {name: v.whole() if isinstance(v, Slices) else v for name, v in found}


def compute(
    x: Blocks,
    h: Blocks,
    edges: CSR,
    index: int,
    params: PrecomputeParams,
    tick: Callable[[], None] = lambda: None,
) -> Group:
    """Propagate one group; its numbers do not depend on the width of a block.

    Args:
        x: its raw features. h: where S^k X goes; blocks as wide as those of `x`.
        edges: [N, N] binary.
        index: its number, which the random ties of the LS profile depend on.
        tick: called again and again; may raise to stop.
    """
    operator = build(edges, params.self_loops)
    n, f = x.shape
    tick()
    pairs = NO_PAIRS
    if params.ls_reconnect:
        pairs = reconnected(operator, 0, n, index, params.ls_seed)
    hop_weights = profiles.hop_weights(operator, params.max_hop)
    ls_weights = profiles.ls_weights(operator, params.ls_hops, pairs)
    weights = np.concatenate([hop_weights, ls_weights], axis=1)
    tick()
    means = np.zeros((weights.shape[1], f))
    filled = [0]

    def add_up(at: int, z: Array) -> None:
        filled.append(int(np.count_nonzero(z)))
        means[:, at : at + x.width] = profiles.weighted_sums(weights, z) / max(1, n)

    write_hops(BACKENDS[params.backend](operator), x, {params.hops: h}, add_up, tick)
    spread = profiles.spread(operator, params.hops)
    return Group(operator, x, h, sum(filled), spread, means[:-2], means[-2:])


def compute_all(
    raw: Array | CSR,
    orig_id: Array,
    offset: Array,
    edges: CSR,
    params: PrecomputeParams,
    norm: Norm,
) -> list[Group]:
    """Propagate the features of every group in memory, in the order of their rows.

    Args:
        raw: [all nodes, F] float32.
        orig_id: [N] the node of every grouped row.
        offset: [G + 1] group boundaries.
        edges: [N, N] binary, block-diagonal.
        norm: `none`, `row`, `column` or the features' sizes, with `as_released` already resolved.
    """
    parts = Parts.of(orig_id, offset, edges)
    norm = column_sizes.resolved(norm, of_whole(raw), parts.first_train)
    groups = []
    for g, (low, high) in enumerate(parts.bounds):
        x = in_memory(raw, orig_id[low:high], norm)
        groups.append(compute(x, empty_like(x), parts.edges(low, high), g, params))
    return groups


def raw_entries(x: Blocks, filled: int) -> dict[str, Array | Slices]:
    """Return raw features as `x`, dense, where at least half of the group's values are not zero,
    else as CSR arrays.
    """
    n, f = x.shape
    if 2 * filled >= n * f:
        return {"x": Slices((n, f), lambda: by_rows(x))}
    lengths: list[Array] = [np.count_nonzero(block != 0, axis=1) for block in by_rows(x)]
    return {
        "x_indptr": np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64),
        "x_indices": Slices(
            (filled,), lambda: (CSR.of_dense(block).indices for block in by_rows(x))
        ),
        "x_data": Slices((filled,), lambda: (block[block != 0] for block in by_rows(x))),
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
