"""The hops S^j X of one part of one task in float32: what a task's model and its validation see."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.core.types import CSR, Array
from taamctl.features import profiles
from taamctl.features.raw_features import Norm, in_room
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import Operator, build
from taamctl.propagation.powers import BLOCK, write_hops
from taamctl.propagation.room import COPIES, UNLIMITED, Room, StoredRows
from taamctl.stream.induce import induce


@dataclass(frozen=True)
class Part:
    """The nodes of one part of one task, propagated over their own induced subgraph; where there is
    a context, its nodes follow them. To be closed, as its rows may lie in files.

    Attributes:
        x: features, normalised. hops: j -> S^j X, [N + context, F] float32.
        y: [N] int64, classes of the task from 0.
    """

    x: StoredRows
    operator: Operator
    hops: dict[int, StoredRows]
    y: torch.Tensor
    files: ExitStack

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self.files.close()

    def own(self) -> dict[int, torch.Tensor]:
        """Return the hop features of the part's own nodes, [N, F]."""
        return {j: z[: len(self.y)] for j, z in self.hops.items()}

    def means(self, last: int) -> Array:
        """Return the means over its own nodes of S^j X, j = 0..last, [last + 1, F] float64."""
        n, step = len(self.y), profiles.ROWS
        weights = profiles.hop_weights(self.operator, last)[:n]
        out = np.zeros((last + 1, self.x.shape[1]))
        for low in range(0, n, step):
            rows = self.x[low : min(n, low + step)].numpy()
            out += profiles.weighted_sums(weights[low : low + step], rows)
        return out / max(1, n)


def propagated(
    source: Source,
    adjacency: CSR,
    ids: Array,
    y: Array,
    config: Config,
    norm: Norm,
    more: Iterable[int] = (),
    room: Room = UNLIMITED,
) -> Part:
    """Propagate features over the subgraph that some nodes induce: no other node is seen, but those
    of the context.

    Args:
        ids: [N] nodes, ascending. y: [N] their classes, of the task from 0.
        more: hops that are wanted beside those of the method and the router.
        room: how much memory there is.
    """
    n = source.graph.num_nodes
    seen = np.concatenate([ids, np.arange(n - source.context, n)])
    inside = np.array([0, len(seen)])
    operator = build(induce(adjacency, seen, inside), config.precompute.self_loops)
    wanted = sorted({config.precompute.hops, *config.bank.router.hops, *more})
    shape = (len(seen), source.graph.num_features)
    step = 4 * COPIES * len(seen)
    whole = 4 * shape[0] * shape[1] * (1 + len(wanted)) + step * min(shape[1], BLOCK)
    columns = room.columns(whole, step)
    with ExitStack() as opened:  # closed here only where something fails
        hops = {j: opened.enter_context(room.matrix(shape, np.float32, columns)) for j in wanted}
        x = opened.enter_context(in_room(room, source.graph.features, seen, norm, columns))
        write_hops(BACKENDS[config.precompute.backend](operator), x, hops)
        files = opened.pop_all()
    stored = {j: StoredRows(z) for j, z in hops.items()}
    return Part(StoredRows(x), operator, stored, torch.from_numpy(y), files)
