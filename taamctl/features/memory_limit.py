"""How much memory propagation needs, and what fits into what there is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.memory import SLACK, mib, used
from taamctl.core.rows import BLOCK_BYTES
from taamctl.core.types import CSR, Array
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import BACKENDS, COST
from taamctl.propagation.operator import RANGE, build
from taamctl.propagation.powers import BLOCK

LEAST = 8  # columns that are worth a pass over the edges


@dataclass(frozen=True)
class Sizes:
    """What the memory depends on.

    Attributes:
        nodes, entries: [G] rows and edges of every group.
        features: F.
        raw: bytes of the raw features as a whole; 0 where they are in memory already.
        values: [G] stored values of every group where the raw features are CSR; None: they are
            dense.
    """

    nodes: Array
    entries: Array
    features: int
    raw: int
    values: Array | None = None

    def group(self, params: PrecomputeParams, width: int, *, held: bool) -> int:
        """Return bytes for the most demanding group; `held`: X and H of the group are in memory
        too.
        """
        per_entry, copies = COST[params.backend]
        values: Array | int = 0
        dense = 2  # arrays of N x F: H, and X where it is dense
        if self.values is not None:
            values = self.values
            dense = 1
        per_node = 8.0 * (2 * (params.max_hop + 3) + 8) + 4.0 * copies * width
        per_value = 0.0
        if held:
            per_node += 4.0 * dense * self.features
            # by rows, by columns, and the columns at work
            per_value = 8.0 * (2 + width / max(1, self.features))
        loops = self.entries + self.nodes
        largest = max(int(loops.max(initial=0)), int(np.max(values, initial=0)))
        cells = 4 * int(self.nodes.max(initial=0)) * self.features
        # a range of entries, a block of rows, and what is made of them
        passing = 40 * min(RANGE, largest) + 6 * min(BLOCK_BYTES, cells)
        each = loops * (8.0 + per_entry) + self.nodes * per_node + values * per_value
        return passing + int(each.max(initial=0))


def sparse(nodes: int, values: int) -> int:
    """Return the bytes of CSR features as a whole: values with their columns; row pointers as
    read, as held, and narrow; and, from 2^31 values on, columns made wide to pick rows.
    """
    wide = values >= 1 << 31
    return 8 * values * (1 + wide) + 20 * nodes


def warm_up(params: PrecomputeParams) -> None:
    """Take one step on a graph of one node, so that what the backend's library needs for itself
    is in memory before it is counted.
    """
    edges = CSR(np.zeros(2, np.int64), np.zeros(0, np.int32), None, (1, 1))
    step = BACKENDS[params.backend](build(edges, params.self_loops))
    step(np.ones((1, 1), np.float32))


def columns_at_once(limit: int, sizes: Sizes, params: PrecomputeParams) -> int | None:
    """Return how many columns fit at once with X and H on the disk; None: everything fits into
    memory.

    Args:
        limit: bytes that the whole process may have.

    Raises:
        TaamctlError: not even a few columns fit; the hint has the limit that would do.
    """
    warm_up(params)
    widest = max(1, min(BLOCK, sizes.features))
    inside = used() + SLACK
    if inside + sizes.raw + sizes.group(params, widest, held=True) <= limit:
        return None
    least = inside + sizes.group(params, min(LEAST, widest), held=False)
    if least > limit:
        hint = f"use --max-memory {mib(least) + 1}M or more"
        if not sizes.raw:
            hint += (
                "; taamctl data import makes a file whose features need not be in memory, as "
                "they are now"
            )
        raise TaamctlError(
            f"{limit >> 20} MiB of memory are too little to propagate {int(sizes.nodes.sum()):,} "
            f"nodes: {mib(inside)} MiB are in use, and the largest part of a task needs "
            f"{mib(least - inside)} MiB more",
            hint,
        )
    without = sizes.group(params, 0, held=False)
    each = (sizes.group(params, widest, held=False) - without) / widest
    return max(1, min(widest, int((limit - inside - without) / max(1.0, each))))
