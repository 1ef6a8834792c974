"""The hops S^j X of one part of one task in float32: what a task's model and its validation see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source
from taamctl.core.types import CSR, Array
from taamctl.features.raw_features import Norm, in_memory
from taamctl.propagation.operator import Operator, build
from taamctl.propagation.powers import hop_matrices
from taamctl.stream.induce import induce


@dataclass(frozen=True)
class Part:
    """The nodes of one part of one task, propagated over their own induced subgraph; where there is
    a context, its nodes follow them.

    Attributes:
        hops: j -> S^j X, [N + context, F] float32. y: [N] int64, classes of the task from 0.
    """

    x: Array | CSR
    operator: Operator
    hops: dict[int, torch.Tensor]
    y: torch.Tensor

    def own(self) -> dict[int, torch.Tensor]:
        """Return the hop features of the part's own nodes, [N, F]."""
        return {j: z[: len(self.y)] for j, z in self.hops.items()}


def propagated(
    source: Source,
    adjacency: CSR,
    ids: Array,
    y: Array,
    config: Config,
    norm: Norm,
    more: Iterable[int] = (),
) -> Part:
    """Propagate features over the subgraph that some nodes induce: no other node is seen, but those
    of the context.

    Args:
        ids: [N] nodes, ascending. y: [N] their classes, of the task from 0.
        more: hops that are wanted beside those of the method and the router.
    """
    n = source.graph.num_nodes
    seen = np.concatenate([ids, np.arange(n - source.context, n)])
    x = in_memory(source.graph.features, seen, norm).x
    edges = induce(adjacency, seen, np.array([0, len(seen)]))
    operator = build(edges, config.precompute.self_loops)
    wanted = {config.precompute.hops, *config.bank.router.hops, *more}
    found = hop_matrices(operator, x, wanted, config.precompute.backend)
    hops = {j: torch.from_numpy(z) for j, z in found.items()}
    return Part(x, operator, hops, torch.from_numpy(y))
