"""Adam by torch's own update rule, without its optimiser classes: they import torch's compiler,
a second of CPU in every process.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.optim.adam import adam

BETAS, EPS = (0.9, 0.999), 1e-8


class Adam:
    """Adam with the L2 term inside the gradient (not decoupled).

    Attributes:
        state: per parameter that has had a gradient, in their order: `step` [], `exp_avg` and
            `exp_avg_sq` of the parameter's shape.
    """

    def __init__(
        self, parameters: Sequence[torch.Tensor], lr: float, weight_decay: float = 0.0
    ) -> None:
        self.parameters, self.lr, self.weight_decay = list(parameters), lr, weight_decay
        self.state: dict[int, dict[str, torch.Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        with torch.no_grad():
            gradients = {i: p.grad for i, p in enumerate(self.parameters) if p.grad is not None}
            for i in gradients:
                if i not in self.state:
                    p = self.parameters[i]
                    self.state[i] = {
                        "step": torch.tensor(0.0),
                        "exp_avg": torch.zeros_like(p),
                        "exp_avg_sq": torch.zeros_like(p),
                    }
            columns = [
                [self.state[i][name] for i in gradients]
                for name in ("exp_avg", "exp_avg_sq", "step")
            ]
            adam(
                [self.parameters[i] for i in gradients],
                list(gradients.values()),
                columns[0],
                columns[1],
                [],
                columns[2],
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=self.lr,
                weight_decay=self.weight_decay,
                eps=EPS,
                maximize=False,
            )
