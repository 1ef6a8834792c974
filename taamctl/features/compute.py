"""Everything that `precompute` derives from a split and the raw features, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.progress import SILENT, Progress
from taamctl.core.types import CSR, Array
from taamctl.features import profiles, sgc
from taamctl.features.operator import Operator, build
from taamctl.features.params import PrecomputeParams


@dataclass(frozen=True)
class Features:
    """Arrays over the grouped rows; groups are slices of them.

    Attributes:
        operator: S, block-diagonal.
        x: raw features of the rows, normalised as asked.
        h: [N, F] float32. spread: [N] float64.
        hop_mean: [G, J, F] float64. ls_mean: [G, 2, F] float64.
    """

    operator: Operator
    x: Array | CSR
    h: Array
    spread: Array
    hop_mean: Array
    ls_mean: Array

    def group(self, index: int, low: int, high: int, params: PrecomputeParams) -> dict[str, Array]:
        """Return everything that is stored of one group (rows [low, high)), by entry name."""
        out = {"deg": self.operator.degree[low:high], "H": self.h[low:high], "spread": self.spread[low:high],
               "hop_mean": self.hop_mean[index], "ls_mean": self.ls_mean[index]}
        if params.store_x:
            out |= group_features(self.x, low, high)
        if params.store_edges:
            out["indptr"], out["indices"] = group_edges(self.operator, low, high)
        return out


def compute(raw: Array | CSR, orig_id: Array, offset: Array, edges: CSR, params: PrecomputeParams, norm: str,
            progress: Progress = SILENT) -> Features:
    """Propagate the features of every group over its own edges.

    Args:
        raw: [all nodes, F] float32.
        orig_id: [N] the node of every grouped row.
        offset: [G + 1] group boundaries.
        edges: [N, N] binary, block-diagonal.
        norm: `none` or `row`, with `as_released` already resolved.
    """
    x = sgc.normalise(sgc.take_rows(raw, orig_id), norm)
    operator = build(edges, params.self_loops)
    means = profiles.hop_means(operator, x, offset, params.max_hop)
    ls = profiles.ls_means(edges, params.self_loops, x, offset, hops=params.ls_hops, reconnect=params.ls_reconnect,
                           seed=params.ls_seed)
    h = sgc.propagate(operator, x, params.hops, params.backend, progress)
    return Features(operator, x, h, profiles.spread(operator, params.hops), means, ls)


def group_features(x: Array | CSR, low: int, high: int) -> dict[str, Array]:
    """Return one group's raw features as CSR arrays `x_indptr`, `x_indices`, `x_data`."""
    if isinstance(x, CSR):
        block = x.rows(low, high)
        assert block.data is not None
        return {"x_indptr": block.indptr, "x_indices": block.indices, "x_data": block.data}
    rows, columns = np.nonzero(x[low:high])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=high - low))])
    return {"x_indptr": indptr, "x_indices": columns.astype(np.int32), "x_data": x[low:high][rows, columns]}


def group_edges(operator: Operator, low: int, high: int) -> tuple[Array, Array]:
    """Return one group's edges with self-loops, numbered inside the group; a loop of weight 2 is stored twice."""
    block = operator.adjacency.rows(low, high)
    assert block.data is not None
    repeats = block.data.astype(np.int64)
    owner = np.repeat(np.arange(high - low), np.diff(block.indptr))
    counts = np.bincount(owner, repeats, high - low).astype(np.int64)
    return np.concatenate([[0], np.cumsum(counts)]), (np.repeat(block.indices, repeats) - low).astype(np.int32)
