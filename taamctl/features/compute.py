"""Everything that `precompute` derives from a split and the raw features, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from taamctl.core.slices import Slices
from taamctl.core.types import CSR, Array
from taamctl.features.group_features import Group, InMemory
from taamctl.features.group_features import compute as compute_group
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation import sgc


@dataclass(frozen=True)
class Features:
    """All groups of a split, in the order of their rows."""

    groups: tuple[Group, ...]

    def group(self, index: int, params: PrecomputeParams) -> dict[str, Array]:
        """Return everything that is stored of one group, by entry name."""
        return {
            name: value.whole() if isinstance(value, Slices) else value
            for name, value in self.groups[index].entries(params).items()
        }


def compute(
    raw: Array | CSR, orig_id: Array, offset: Array, edges: CSR, params: PrecomputeParams, norm: str
) -> Features:
    """Propagate the features of every group over its own edges.

    Args:
        raw: [all nodes, F] float32.
        orig_id: [N] the node of every grouped row.
        offset: [G + 1] group boundaries.
        edges: [N, N] binary, block-diagonal.
        norm: `none` or `row`, with `as_released` already resolved.
    """
    made = []
    for g, (low, high) in enumerate(pairwise(offset.tolist())):
        x = in_memory(raw, orig_id[low:high], norm)
        made.append(compute_group(x, empty_like(x), inside(edges, low, high), g, params))
    return Features(tuple(made))


def in_memory(raw: Array | CSR, nodes: Array, norm: str) -> InMemory:
    """Return the normalised features of some nodes."""
    return InMemory(sgc.normalise(sgc.take_rows(raw, nodes), norm), sgc.BLOCK)


def empty_like(x: InMemory) -> InMemory:
    """Return a matrix of the same shape for what is made of it."""
    return InMemory(np.empty(x.shape, np.float32), sgc.BLOCK)


def inside(edges: CSR, low: int, high: int) -> CSR:
    """Return the edges among the rows [low, high) of a block-diagonal matrix, numbered from 0."""
    a, b = int(edges.indptr[low]), int(edges.indptr[high])
    return CSR(
        edges.indptr[low : high + 1] - a,
        edges.indices[a:b] - np.int32(low),
        None,
        (high - low, high - low),
    )
