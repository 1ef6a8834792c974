"""PDGNNs-TEM: replay of topology-aware embeddings, which for an SGC are rows of H."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import TaskData
from taamctl.learning.contract.method import Facts
from taamctl.learning.contract.replay_buffer import per_class, pick_random
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.propagation import group_graph


@dataclass(frozen=True)
class Params:
    """PDGNNs' own parameters."""

    budget: int = param("embeddings kept per class, b", ge=1)
    sampler: str = param(
        "drawn in proportion to: degree (in-degree with the self-loop, the published surrogate), "
        "coverage (nodes within k hops, exact) or random",
        choices=("degree", "coverage", "random"),
    )
    include_current: bool = param(
        "replay the current task's picks too, as the public code does from its second epoch on"
    )


class Method(ReplayMethod):
    """One class-balanced cross-entropy over [H; B], weights counted over both.

    Nodes are drawn without replacement with probability in proportion to how much of the graph they
    cover. The public SGC variant propagates one hop; here all methods share H = S^k X. Source:
    Zhang et al. (2024); 400 rows per class by the cost table of TAAM (AAMAS 2026).
    """

    facts = Facts(
        title="PDGNNs",
        family="replay",
        source="Zhang et al. (2024)",
        needs=("edges",),
        memory="rows of H, b per class",
    )
    params: Params

    @property
    def include_current(self) -> bool:  # type: ignore[override]
        """Tell whether the current task's picks are replayed."""
        return self.params.include_current

    def select(self, data: TaskData) -> Tensors:
        """Draw b rows of H per class."""
        generator = torch_generator(self.seed, "memory", data.task.index)
        coverage = self._coverage(data)
        picked = [
            pick_random(rows, count, generator, None if coverage is None else coverage[rows])
            for _, rows, count in per_class(data.y, self.params.budget, data.task.classes)
        ]
        rows = torch.cat(picked)
        return {"x": data.h[rows], "y": data.y[rows]}

    def _coverage(self, data: TaskData) -> torch.Tensor | None:
        if self.params.sampler == "random":
            return None
        if self.params.sampler == "degree":
            return data.deg
        edges = group_graph.adjacency(data.extras) > 0
        reach = edges
        for _ in range(self.info.hops - 1):
            reach = (reach.astype(np.float32) @ edges.astype(np.float32)) > 0
        return torch.from_numpy(np.diff(reach.indptr).astype(np.float32)).to(self.device)
