"""SSM: sparsified subgraph memory, replay of small induced subgraphs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.contract.replay_buffer import per_class, pick_random
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import loop, loss
from taamctl.models.net_input import NetInput
from taamctl.propagation import group_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Context nodes are drawn: the number that `stored` declares is a bound where there are any.
ROWS_AT_MOST = True


@dataclass(frozen=True)
class Params:
    """SSM's own parameters."""

    budget: int = param("centres kept per class", ge=1)
    neighbours: tuple[int, ...] = param("per hop, neighbours kept as context of the centres", ge=0)
    drawn_per: str = param(
        "neighbours are drawn for the centres of a class, or once for those of a whole task: class "
        "or task",
        choices=("class", "task"),
    )
    sampler: str = param(
        "of neighbours: uniform (with replacement) or degree (without, in proportion to "
        "in-degrees)",
        choices=("uniform", "degree"),
    )
    include_current: bool = param(
        "replay the current task's centres too, as the public loop does: they are listed before "
        "the replay graph is built"
    )
    accumulate: bool = param(
        "the public loop's fault: the memory's centres are listed once more at every epoch, so "
        "that replay weighs more and more"
    )
    self_loops: bool = param(
        "give the nodes of a stored subgraph their self-loops; without, an isolated stored node is "
        "a zero row"
    )


class Method(ReplayMethod):
    """One class-balanced cross-entropy over current nodes and stored centres; weights counted over
    context nodes too.

    What is fed to the net is S^k X of the subgraph induced on a task's stored nodes; it never
    changes, so it is computed once and stored instead of the raw rows. Source: Zhang, Song and Tao
    (2022), random sampler; 100 centres without context by the cost table of TAAM (AAMAS 2026).
    """

    facts = Facts(
        title="SSM",
        family="replay",
        source="Zhang, Song and Tao (2022)",
        needs=("x", "edges"),
        memory="rows of a subgraph: centres per class and their context",
    )
    params: Params

    def select(self, data: TaskData) -> Tensors:
        """Take centres and context, and propagate over the edges among them."""
        generator = torch_generator(self.seed, "memory", data.task.index)
        edges = group_graph.adjacency(data.extras)
        centres = []
        context = []
        for _, rows, count in per_class(data.y.cpu(), self.params.budget, data.task.classes):
            mine = pick_random(rows, count, generator)
            centres.append(mine)
            if self.params.drawn_per == "class":
                context.append(self._context(edges, mine.numpy(), generator))
        middle = torch.cat(centres)
        if self.params.drawn_per == "task":
            context.append(self._context(edges, middle.numpy(), generator))
        stored = torch.from_numpy(np.union1d(middle.numpy(), np.concatenate(context)))
        kept = stored.numpy()
        inside = edges[kept][:, kept]
        if not self.params.self_loops:
            inside.setdiag(0)
            inside.eliminate_zeros()
        raw = group_graph.raw_rows(data.extras, stored, self.info.num_features)
        x = group_graph.propagate_rows(inside, raw, self.info.hops)
        return {
            "x": x.to(self.device),
            "y": data.y[stored.to(self.device)],
            "centre": torch.isin(stored, middle).to(self.device),
        }

    def _context(self, edges: csr_matrix, frontier: Array, generator: torch.Generator) -> Array:
        """Return nodes sampled hop by hop from the in-neighbours of the nodes sampled before."""
        found: list[Array] = [np.zeros(0, np.int64)]
        degree = torch.from_numpy(np.asarray(edges.sum(1)).ravel())
        for count in self.params.neighbours:
            around = torch.from_numpy(np.unique(edges[frontier].indices).astype(np.int64))
            if self.params.sampler == "uniform":
                drawn = around[torch.randint(len(around), (count,), generator=generator)]
            else:
                drawn = pick_random(around, min(count, len(around)), generator, degree[around])
            found.append(drawn.numpy())
            frontier = np.union1d(frontier, drawn.numpy())
        return np.concatenate(found)

    @property
    def include_current(self) -> bool:  # type: ignore[override]
        """Tell whether the current task's centres are replayed."""
        return self.params.include_current

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the cross-entropy over current nodes and the centres that are replayed."""
        kept = self.replayed_memory()
        if not kept:
            return self.cross_entropy(data.h, data.y), len(data.y)
        x, y = self.replayed()
        centre = torch.cat([m["centre"] for m in kept])
        n = len(data.y)
        each = loss.node_weights(torch.cat([data.y, y]), self.info.num_classes, self.train.balance)
        weights = torch.cat([each[:n], each[n:][centre]])
        inputs = NetInput.of(torch.cat([data.h, x[centre]]))
        labels = torch.cat([data.y, y[centre]])
        replayed = torch.arange(len(labels), device=self.device) >= n
        calls = itertools.count()
        batches = 1
        if loop.batched(len(labels), self.train):
            batches = -(-len(labels) // self.train.node_batch)

        def objective(rows: loop.Rows) -> torch.Tensor:
            own = weights[rows]
            if self.params.accumulate:
                epoch = 1 + next(calls) // batches
                own = torch.where(replayed[rows], own * epoch, own)
            logits = self.net.logits(inputs[rows], self.seen)
            return loss.weighted_cross_entropy(logits, labels[rows], own)

        return objective, len(labels)

    def stored(self, class_sizes: Array) -> Stored:
        """Return centres per class, and at most as many context nodes as are drawn (none twice)."""
        centres = class_sizes.clip(max=self.params.budget)
        drawn = sum(self.params.neighbours)
        rows = 0
        for low, high in self.info.bounds:
            sizes = class_sizes[low:high]
            draws = int(np.count_nonzero(sizes))
            if self.params.drawn_per == "task":
                draws = min(draws, 1)
            rows += int(min(centres[low:high].sum() + draws * drawn, sizes.sum()))
        return Stored(rows=rows, net=self.net_words)
