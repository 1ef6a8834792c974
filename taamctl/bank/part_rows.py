"""Rows S^j X of one part of one task in float64: of some nodes, from as much of the graph as they
depend on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from taamctl.bank.graph_source import Source
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm, in_memory
from taamctl.graph.canonical import to_scipy
from taamctl.propagation.operator import build
from taamctl.propagation.powers import BLOCK
from taamctl.stream.induce import induce


class PartRows:
    """The subgraph that some nodes induce.

    Args:
        adjacency: [N, N] the edges as the bank uses them. ids: [n] nodes, ascending.

    Attributes:
        ids: as given. links: [n] int64, edges at every node among these, in and out.
    """

    def __init__(
        self, source: Source, adjacency: CSR, ids: Array, self_loops: str, norm: Norm
    ) -> None:
        edges = induce(adjacency, ids, np.array([0, len(ids)]))
        either = to_scipy(edges, np.int64)
        self.ids = ids
        self.links = np.asarray(either.sum(1)).ravel() + np.asarray(either.sum(0)).ravel()
        self._touching = either + either.T
        self._step = build(edges, self_loops).scipy(np.float64)
        self._features = source.graph.features
        self._norm = norm

    def near(self, start: Array, steps: int) -> Array:
        """Return which nodes are at most so many edges from some, in either direction, [n] bool.

        Args:
            start: [n] bool.
        """
        found = start.copy()
        for _ in range(steps):
            found |= (self._touching @ found.astype(np.int64)) > 0
        return found

    def hop_sum(self, last: int) -> Array:
        """Return the sum over all nodes of S^j X, j = 0..last, [last + 1, F] float64."""
        weights = np.ones((len(self.ids), last + 1))
        for j in range(1, last + 1):
            weights[:, j] = self._step.T @ weights[:, j - 1]
        x = in_memory(self._features, self.ids, self._norm)
        out = np.zeros((last + 1, x.shape[1]))
        for low in range(0, x.shape[1], BLOCK):
            z = np.asarray(x.columns(low), np.float64)
            out[:, low : low + z.shape[1]] = weights.T @ z
        return out

    def rows(self, wanted: Array, hops: Iterable[int]) -> dict[int, torch.Tensor]:
        """Return j -> S^j X of some nodes, [K, F] float64 each.

        Args:
            wanted: [n] bool.
        """
        needed = sorted(set(hops))
        ball = np.flatnonzero(self.near(wanted, needed[-1]))
        step = self._step[ball][:, ball]
        at = np.flatnonzero(wanted[ball])
        x = in_memory(self._features, self.ids[ball], self._norm)
        out = {j: np.empty((len(at), x.shape[1])) for j in needed}
        for low in range(0, x.shape[1], BLOCK):
            z = np.asarray(x.columns(low), np.float64)
            for j in range(needed[-1] + 1):
                if j:
                    z = step @ z
                if j in out:
                    out[j][:, low : low + z.shape[1]] = z[at]
        return {j: torch.from_numpy(rows) for j, rows in out.items()}
