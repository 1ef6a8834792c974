"""Streams at the edges of what data can be: no features, no edges, one node, one class, one task,
huge values, a huge degree, many classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, QueryGraph, StreamInfo, Task, TaskData
from taamctl.propagation import group_graph
from taamctl.store.feature_store import EXTRAS
from taamctl.testing.toy_stream import Plugin, ToyStream

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WIDTH = 4  # features
DEGREE = 2_000  # of the centre of a star; `star` takes more
CLASSES = 200  # where there are many; `many_classes` takes more


@dataclass(frozen=True)
class Nodes:
    """The nodes of one task: raw features x [N, F], labels y [N], and their edges with self-loops
    as a symmetric [N, N] matrix of weights.
    """

    x: Array
    y: Array
    linked: csr_matrix

    @cached_property
    def h(self) -> torch.Tensor:
        """Return the propagated features, [N, F] float32."""
        return group_graph.propagate_rows(self.linked, torch.from_numpy(self.x), 2)

    @property
    def deg(self) -> torch.Tensor:
        """Return the degrees, [N] float32."""
        return torch.from_numpy(np.asarray(self.linked.sum(1), np.float32).ravel())

    def extras(self, needs: Sequence[str]) -> dict[str, Array]:
        """Return the cached arrays that a method asks for, as precompute stores them."""
        import scipy.sparse as sp

        values = sp.csr_matrix(self.x)
        every = {
            "x_indptr": values.indptr.astype(np.int64),
            "x_indices": values.indices.astype(np.int32),
            "x_data": values.data,
            "indptr": self.linked.indptr.astype(np.int64),
            "indices": self.linked.indices.astype(np.int32),
        }
        return {name: every[name] for need in needs for name in EXTRAS[need]}

    def take(self, rows: Array) -> Nodes:
        """Return some of the nodes, with the edges among them."""
        return Nodes(self.x[rows], self.y[rows], self.linked[rows][:, rows].tocsr())


class EdgeStream(ToyStream):
    """One method and a stream of one's own.

    Args:
        module, values: as of `ToyStream`.
        groups: the nodes of every task, whose classes follow on each other.
    """

    def __init__(
        self, module: Plugin, values: Mapping[str, object] | None, groups: Sequence[Nodes]
    ) -> None:
        super().__init__(module, values)
        ends = np.cumsum([0, *(len(np.unique(group.y)) for group in groups)]).tolist()
        bounds = tuple(pairwise(ends))
        self.groups = groups
        self.info = StreamInfo(groups[0].x.shape[1], bounds)

    def tasks(self, seed: int = 0, *, one_node: bool = False) -> list[TaskData]:
        """Return the training parts: all nodes."""
        return [self._task(k) for k in range(self.info.num_tasks)]

    def _task(self, k: int) -> TaskData:
        group, (low, high) = self.groups[k], self.info.bounds[k]
        y = torch.from_numpy(group.y + low)
        return TaskData(Task(k, low, high), group.h, y, group.deg, group.extras(self.facts.needs))

    def asked(self, k: int, rows: Array) -> QueryGraph:
        """Return some nodes of a task as a query graph."""
        group = self.groups[k].take(rows)
        return QueryGraph(group.h, group.deg, group.extras(self.facts.query_needs))


def nodes(sizes: Sequence[int], seed: int = 0, *, scale: float = 1.0, linked: bool = True) -> Nodes:
    """Return the nodes of a task at random.

    Args:
        sizes: nodes of every class.
        scale: of the features.
        linked: off: nobody has an edge but to itself.
    """
    import scipy.sparse as sp

    rng = numpy_generator(seed, "edges of what data can be", len(sizes))
    y = np.repeat(np.arange(len(sizes)), sizes).astype(np.int64)
    x = (scale * rng.random((len(y), WIDTH))).astype(np.float32)
    edges = sp.csr_matrix((len(y), len(y)))
    if linked and len(y) > 1:
        ends = rng.integers(0, len(y), (2, 2 * len(y)))
        ends = ends[:, ends[0] != ends[1]]
        edges = sp.csr_matrix((np.ones(ends.shape[1]), ends), shape=edges.shape)
    return Nodes(x, y, _with_loops(edges))


def star(leaves: int = DEGREE) -> Nodes:
    """Return two classes around one node that all others are linked to."""
    import scipy.sparse as sp

    rng = numpy_generator(0, "a star", leaves)
    y = np.arange(leaves + 1, dtype=np.int64) % 2
    ends = np.stack([np.zeros(leaves, np.int64), np.arange(1, leaves + 1)])
    edges = sp.csr_matrix((np.ones(leaves), ends), shape=(leaves + 1, leaves + 1))
    return Nodes(rng.random((leaves + 1, WIDTH)).astype(np.float32), y, _with_loops(edges))


def many_classes(classes: int = CLASSES, tasks: int = 2) -> list[Nodes]:
    """Return tasks of many classes with two nodes each."""
    return [nodes([2] * (classes // tasks), seed) for seed in range(tasks)]


def _with_loops(edges: csr_matrix) -> csr_matrix:
    import scipy.sparse as sp

    both = ((edges + edges.T) > 0).astype(np.float64) + sp.identity(edges.shape[0], format="csr")
    both.sort_indices()
    return both.tocsr()


Groups = Callable[[], list[Nodes]]
# What is at the edge -> the stream that is.
STREAMS: dict[str, Groups] = {
    "features that are all 0": lambda: [nodes([5, 4], k, scale=0.0) for k in range(2)],
    "isolated nodes": lambda: [nodes([5, 4], k, linked=False) for k in range(2)],
    "tasks of one class": lambda: [nodes([4], k) for k in range(3)],
    "one task": lambda: [nodes([4, 3, 5])],
    "one task of one class": lambda: [nodes([3])],
    "one node in all": lambda: [nodes([1])],
    "classes of one to three nodes": lambda: [nodes([1, 2, 3], k) for k in range(2)],
    "a node with thousands of edges": lambda: [star(), nodes([3, 3])],
    "features of 1e30": lambda: [nodes([5, 4], k, scale=1e30) for k in range(2)],
    "features of 1e-30": lambda: [nodes([5, 4], k, scale=1e-30) for k in range(2)],
    "hundreds of classes": many_classes,
}
