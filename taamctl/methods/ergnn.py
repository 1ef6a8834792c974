"""ER-GNN: experience replay of isolated nodes, weighted by the size of the buffer."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract import replay_buffer
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import loop
from taamctl.propagation import group_graph

SAMPLERS = ("cm", "cm_plus", "mf", "mf_plus", "random")


@dataclass(frozen=True)
class Params:
    """ER-GNN's own parameters."""

    budget: int = param("nodes kept per class, b", ge=1)
    sampler: str = param(
        "cm: fewest nodes of other classes nearby; mf: nearest to the class mean; _plus: on the "
        "hidden layer instead of raw features; random",
        choices=SAMPLERS,
    )
    distance: float = param("cm: what is nearby, d", gt=0)
    view: str = param(
        "what is replayed: isolated (raw X: with its self-loop alone a node's S is 1), induced "
        "(over the edges among the kept nodes) or cached_h (H)",
        choices=("isolated", "induced", "cached_h"),
    )
    beta: str = param(
        "published: beta L_new + (1 - beta) L_B with beta = |B| / (|B| + N), so a larger buffer "
        "weighs less; swapped; none: L_new + L_B",
        choices=("published", "swapped", "none"),
    )


class Method(ReplayMethod):
    """beta L_new + (1 - beta) L_B, both class-balanced over the classes seen; the buffer B holds
    the current task's nodes too.

    The published code indexes the full class with a subsample's ranks (classes beyond 1,000 nodes)
    and takes the features farthest from the mean; neither is kept. On bag-of-words features no
    distance is below d, and cm takes the first nodes. Source: Zhou and Cao (2021); budget and view
    by the cost table and the results of TAAM (AAMAS 2026).
    """

    facts = Facts(
        title="ER-GNN",
        family="replay",
        source="Zhou and Cao (2021)",
        needs=("x", "edges"),
        memory="rows of X, b per class",
    )
    params: Params
    include_current = True

    def select(self, data: TaskData) -> Tensors:
        """Take b nodes per class and what is replayed of them."""
        found = replay_buffer.per_class(data.y, self.params.budget, data.task.classes)
        rows = torch.cat([self._pick(data, rows, count) for _, rows, count in found])
        return {"x": self._view(data, rows).to(self.device), "y": data.y[rows]}

    def _pick(self, data: TaskData, rows: torch.Tensor, count: int) -> torch.Tensor:
        if count == len(rows):
            return rows
        generator = torch_generator(self.seed, f"memory/{int(data.y[rows[0]])}", data.task.index)
        if self.params.sampler == "random":
            return replay_buffer.pick_random(rows, count, generator)
        x = self._space(data)
        if self.params.sampler.startswith("mf"):
            return replay_buffer.pick_by_mean(x, rows, count)
        others = torch.nonzero(data.y != data.y[rows[0]]).flatten()
        return replay_buffer.pick_by_coverage(
            x, rows, others, count, self.params.distance, generator
        )

    def _space(self, data: TaskData) -> torch.Tensor:
        if self.params.sampler.endswith("_plus"):
            with torch.no_grad():
                return functional.relu(functional.linear(data.h, self.net.parameters()[0]))
        every = torch.arange(len(data.y))
        return group_graph.raw_rows(data.extras, every, self.info.num_features).to(self.device)

    def _view(self, data: TaskData, rows: torch.Tensor) -> torch.Tensor:
        if self.params.view == "cached_h":
            return data.h[rows]
        x = group_graph.raw_rows(data.extras, rows, self.info.num_features)
        if self.params.view == "isolated":
            return x
        kept = rows.cpu().numpy()
        return group_graph.propagate_rows(
            group_graph.adjacency(data.extras)[kept][:, kept], x, self.info.hops
        )

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the mixed loss; the first task is trained without replay."""
        new = self.cross_entropy(data.h, data.y)
        if len(self.memory) < 2:
            return new, len(data.y)
        x, y = self.replayed()
        old = self.cross_entropy(x, y)
        beta = len(y) / (len(y) + len(data.y))
        weights = {"published": (beta, 1 - beta), "swapped": (1 - beta, beta), "none": (1.0, 1.0)}
        a, b = weights[self.params.beta]
        return lambda rows: a * new(rows) + b * old(loop.ALL), len(data.y)
