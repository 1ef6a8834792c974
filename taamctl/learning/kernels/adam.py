"""Adam by torch's own update rule, without its optimiser classes: they import torch's compiler,
a second of CPU in every process.
"""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.core.late_torch import torch

BETAS = (0.9, 0.999)
EPS = 1e-8


class Adam:
    """Adam with the L2 term inside the gradient (not decoupled).

    Attributes:
        state: per parameter that has had a gradient, in their order: `step` [], `exp_avg` and
            `exp_avg_sq` of the parameter's shape.
    """

    def __init__(
        self, parameters: Sequence[torch.Tensor], lr: float, weight_decay: float = 0.0
    ) -> None:
        self.parameters = list(parameters)
        self.lr = lr
        self.weight_decay = weight_decay
        self.state: dict[int, dict[str, torch.Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        from torch.optim.adam import adam

        moved = [(i, p) for i, p in enumerate(self.parameters) if p.grad is not None]
        with torch.no_grad():
            for i, p in moved:
                if i not in self.state:
                    self.state[i] = {
                        "step": torch.tensor(0.0),
                        "exp_avg": torch.zeros_like(p),
                        "exp_avg_sq": torch.zeros_like(p),
                    }
            adam(
                [p for _, p in moved],
                [p.grad for _, p in moved if p.grad is not None],
                [self.state[i]["exp_avg"] for i, _ in moved],
                [self.state[i]["exp_avg_sq"] for i, _ in moved],
                [],
                [self.state[i]["step"] for i, _ in moved],
                amsgrad=False,
                beta1=BETAS[0],
                beta2=BETAS[1],
                lr=self.lr,
                weight_decay=self.weight_decay,
                eps=EPS,
                maximize=False,
                # One pass over weights and moments; on a GPU it wants the step counts there too.
                fused=all(p.device.type == "cpu" for _, p in moved),
            )
