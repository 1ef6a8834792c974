"""GEM: gradient episodic memory, steps that do not increase the loss on any earlier task's
memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taamctl.core import blas_buffers
from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import functional, torch
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, TaskData
from taamctl.learning.contract.method import Facts, Stored
from taamctl.learning.contract.replay_buffer import evenly, per_class, pick_random
from taamctl.learning.families.penalty import gradients
from taamctl.learning.families.replay import ReplayMethod
from taamctl.learning.families.sequential import Tensors
from taamctl.learning.kernels import loop
from taamctl.models.net_input import NetInput

RIDGE = 1e-3


@dataclass(frozen=True)
class Params:
    """GEM's own parameters."""

    budget: int = param("nodes kept per task, m", ge=1)
    margin: float = param("least multiplier of an earlier task's gradient, gamma", ge=0)


def project(g: torch.Tensor, memories: torch.Tensor, margin: float) -> torch.Tensor:
    """Return the gradient nearest to `g` that no earlier task's gradient opposes; `g` itself where
    none does.

    min_v 1/2 v^T (G G^T + eps I) v + (G g)^T v with v >= gamma, g + G^T v: with u = v - gamma a
    non-negative least squares problem in as many unknowns as there are earlier tasks. Source:
    Lopez-Paz and Ranzato (2017), Eqs. 8-11.

    Args:
        g: [P]. memories: [T, P], G.
    """
    from scipy.optimize import nnls

    against = (memories @ g).double().cpu().numpy()
    if (against >= 0).all():
        return g
    if not np.isfinite(against).all():
        raise TaamctlError(
            "training diverged: gradients of methods.gem are not finite",
            "lower train.lr, or look for extreme values in the features",
        )
    wide = memories.double()
    quadratic = (wide @ wide.T).cpu().numpy()
    largest = max(1.0, float(np.trace(quadratic)) / len(against))
    quadratic += RIDGE * largest * np.eye(len(against))  # positive definite whatever their size
    blas_buffers.take_for_scipy()
    lower = np.linalg.cholesky(quadratic)
    u, _ = nnls(lower.T, -np.linalg.solve(lower, quadratic.sum(1) * margin + against))
    return g + torch.from_numpy(u + margin).to(g) @ memories


class Method(ReplayMethod):
    """The current cross-entropy's gradient, projected so that it opposes no earlier task's
    unweighted cross-entropy over its range.

    Memory rows are drawn balanced over the task's classes; CGLB takes the first ids, which are of
    one class where ids are sorted. Source: Lopez-Paz and Ranzato (2017).
    """

    facts = Facts(
        title="GEM",
        family="replay",
        source="Lopez-Paz and Ranzato (2017)",
        memory="rows of H, m per task",
    )
    params: Params

    def select(self, data: TaskData) -> Tensors:
        """Draw m nodes, as evenly over the classes as their sizes allow."""
        generator = torch_generator(self.seed, "memory", data.task.index)
        found = per_class(data.y, len(data.y), data.task.classes)
        quota = evenly([len(rows) for _, rows, _ in found], self.params.budget)
        drawn = [
            pick_random(rows, q, generator) for (_, rows, _), q in zip(found, quota, strict=True)
        ]
        rows = torch.cat(drawn)
        return {"x": data.h[rows], "y": data.y[rows]}

    def objective(self, data: TaskData) -> tuple[loop.Loss, int]:
        """Return the current cross-entropy alone."""
        return self.cross_entropy(data.h, data.y), len(data.y)

    def adjust(self, data: TaskData) -> Callable[[], None] | None:
        """Return the projection of the step's gradient."""
        if len(self.memory) < 2:
            return None
        weights = self.net.parameters()
        earlier = [(NetInput.of(kept["x"]), kept["y"]) for kept in self.memory[:-1]]

        def adjust() -> None:
            rows = []
            for (_, high), (x, y) in zip(self.info.bounds, earlier, strict=False):
                value = functional.cross_entropy(self.net.logits(x, high), y)
                rows.append(torch.cat([g.flatten() for g in gradients(value, weights)]))
            current = torch.cat([_gradient(p).flatten() for p in weights])
            projected = project(current, torch.stack(rows), self.params.margin)
            parts = torch.split(projected, [p.numel() for p in weights])
            for p, g in zip(weights, parts, strict=True):
                p.grad = g.reshape(p.shape)

        return adjust

    def stored(self, class_sizes: Array) -> Stored:
        """Return min(m, N_k) rows per task."""
        rows = sum(
            min(self.params.budget, int(class_sizes[low:high].sum()))
            for low, high in self.info.bounds
        )
        return Stored(rows=rows, net=self.net_words)


def _gradient(p: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(p) if p.grad is None else p.grad
