"""The graph as it is known after a snapshot: the nodes that have arrived, and the edges between
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import in_room
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import build
from taamctl.propagation.powers import BLOCK, write_hops
from taamctl.propagation.room import COPIES, UNLIMITED, Room, StoredRows
from taamctl.stream.induce import induce


@dataclass(frozen=True)
class Rows:
    """Some nodes as a model sees them: no label, no time.

    Attributes:
        hops: j -> S^j X, [n, F] float32.
        deg: [n] float32, in-degrees with the self-loop.
    """

    hops: Mapping[int, torch.Tensor]
    deg: torch.Tensor

    def __len__(self) -> int:
        return len(self.deg)

    def some(self, at: Array) -> Rows:
        """Return some of them, by their places."""
        where = torch.from_numpy(at)
        return Rows({j: x[where] for j, x in self.hops.items()}, self.deg[where])


@dataclass(frozen=True)
class StoredHops:
    """The rows of all known nodes, in memory or in files: as `Rows`, of which some are read."""

    hops: Mapping[int, StoredRows]
    deg: torch.Tensor

    def some(self, at: Array) -> Rows:
        """Return some of them, by their places."""
        where = torch.from_numpy(at)
        return Rows({j: x[where] for j, x in self.hops.items()}, self.deg[where])


@dataclass(frozen=True)
class KnownGraph:
    """What is known at a time; to be closed, as its rows may lie in files.

    Attributes:
        nodes: [n] int64 node ids, ascending. rows: of these nodes, in their order.
    """

    nodes: Array
    rows: StoredHops
    files: ExitStack

    def __enter__(self) -> KnownGraph:
        return self

    def __exit__(self, *_: object) -> None:
        self.files.close()

    def of(self, nodes: Array) -> Rows:
        """Return the rows of some known nodes, by their ids."""
        return self.rows.some(np.searchsorted(self.nodes, nodes))


@dataclass(frozen=True)
class WholeGraph:
    """The graph with its whole future: what a replay reveals step by step.

    Attributes:
        edges: [N, N] binary; row v holds the nodes that v receives from.
        features: [N, F] float32, normalised. room: how much memory there is.
    """

    edges: CSR
    features: Array | CSR
    room: Room = UNLIMITED

    def known(self, nodes: Array, wanted: Iterable[int], params: PrecomputeParams) -> KnownGraph:
        """Return the graph of some nodes alone: an edge is there where both its ends are.

        Args:
            nodes: ascending. wanted: the hops that are looked at.
        """
        inside = np.array([0, len(nodes)])
        operator = build(induce(self.edges, nodes, inside), params.self_loops)
        hops, n, f = sorted(set(wanted)), len(nodes), self.features.shape[1]
        step = 4 * COPIES * n
        whole = 4 * n * f * (1 + len(hops)) + step * min(f, BLOCK)
        columns = self.room.columns(whole, step)
        with ExitStack() as opened:  # closed here only where something fails
            made = (
                opened.enter_context(self.room.matrix((n, f), np.float32, columns)) for _ in hops
            )
            out = dict(zip(hops, made, strict=True))
            with in_room(self.room, self.features, nodes, "none", columns) as x:
                write_hops(BACKENDS[params.backend](operator), x, out)
            files = opened.pop_all()
        deg = torch.from_numpy(operator.degree.astype(np.float32))
        rows = StoredHops({j: StoredRows(z) for j, z in out.items()}, deg)
        return KnownGraph(nodes, rows, files)
