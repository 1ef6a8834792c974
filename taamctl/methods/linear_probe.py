"""Linear probe: a logistic regression per task on H, routed by the same task-ID inference.

The control for every modulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from taamctl.core.progress import SILENT, Progress
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.contract.method import Facts, State, Stored
from taamctl.learning.contract.method import Method as Base
from taamctl.params.train_params import TrainParams


@dataclass(frozen=True)
class Params:
    """The probe's own parameters; it does not use `train.epochs` or `train.lr`."""

    c: float = param("inverse strength of the L2 penalty, scikit-learn's C", gt=0)
    iterations: int = param("most L-BFGS iterations", ge=1)


class Method(Base):
    """argmin_W 1/2 |W|^2 + c sum_v w_v CE(W h_v + b, y_v) over one task's nodes and classes, w_v
    inverse to the class size.

    Convex, so there is nothing to draw: every seed gives the same weights. Source: ours, as a
    control; solver scikit-learn's L-BFGS.
    """

    facts: ClassVar[Facts] = Facts(
        title="Linear probe",
        family="probe",
        source="taamctl, as a control",
        sees="current",
        task_id="inferred",
    )
    params: Params

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self._latest: dict[str, Array] = {}
        self._weight, self._bias = np.zeros((0, info.num_features)), np.zeros(0)

    @property
    def independent(self) -> bool:
        """A probe sees its own task only."""
        return True

    @property
    def scope(self) -> str:
        """Return the probe's own classes."""
        return "task_only"

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Fit one logistic regression; return its final mean negative log-likelihood."""
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits  # scikit-learn brings it

        data = tasks[-1]
        h, y, classes = data.h.cpu().numpy(), data.y.cpu().numpy(), data.task.high - data.task.low
        weight, bias = np.zeros((classes, h.shape[1])), np.zeros(classes)
        present = np.unique(y) - data.task.low
        if len(present) > 1:
            model = LogisticRegression(
                C=self.params.c,
                max_iter=self.params.iterations,
                class_weight="balanced" if self.train.balance else None,
            )
            with threadpool_limits(self.train.threads):
                model.fit(h.astype(np.float64), y)
            both = len(present) == 2  # scikit-learn keeps one row for two classes: the log-odds
            weight[present] = (
                np.concatenate([-model.coef_, model.coef_]) / 2 if both else model.coef_
            )
            bias[present] = (
                np.concatenate([-model.intercept_, model.intercept_]) / 2
                if both
                else model.intercept_
            )
        absent = np.setdiff1d(np.arange(classes), present)
        bias[absent] = -1e9  # a class without a training node is never predicted
        self._latest = {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}
        progress.advance(self.train.epochs)
        logits = torch.from_numpy(h @ self._latest["weight"].T + self._latest["bias"])
        return np.array(
            [torch.nn.functional.cross_entropy(logits, data.y.cpu() - data.task.low)], np.float32
        )

    def state(self) -> dict[str, Array]:
        """Return the task's weights [|C_k|, F] and biases [|C_k|]."""
        return self._latest

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install the probes of tasks 0..len(states) - 1."""
        self._weight = np.concatenate([s["weight"] for s in states])
        self._bias = np.concatenate([s["bias"] for s in states])

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return all probes' outputs side by side; across tasks they are not calibrated."""
        return torch.from_numpy(query.h.cpu().numpy() @ self._weight.T + self._bias)

    def stored(self, class_sizes: Array) -> Stored:
        """Return one weight row and bias per class."""
        return Stored(parameters=(self.info.num_features + 1) * self.info.num_classes)
