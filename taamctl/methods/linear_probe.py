"""Linear probe: a logistic regression per task on H, routed by the same task-ID inference.

The control for every modulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core import blas_buffers
from taamctl.core.late_torch import functional, torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Facts, State, Stored
from taamctl.learning.contract.method import Method as Base


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

    facts = Facts(
        title="Linear probe", family="probe", source="taamctl, as a control", task_id="inferred"
    )
    params: Params

    work = "probe"
    independent = True
    scope = "task_only"

    def setup(self) -> None:
        """Begin without a probe."""
        self._latest: dict[str, Array] = {}
        self._weight = np.zeros((0, self.info.num_features))
        self._bias = np.zeros(0)

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Fit one logistic regression; return its final mean negative log-likelihood."""
        data = tasks[-1]
        h = data.h.cpu().numpy()
        own = data.y.cpu() - data.task.low
        classes = data.task.high - data.task.low
        present = np.unique(own)
        weight = np.zeros((classes, h.shape[1]))
        bias = np.full(classes, -1e9)  # a class without a training node is never predicted
        bias[present] = 0
        if len(present) > 1:
            weight[present], bias[present] = self._fitted(h.astype(np.float64), data.y)
        self._latest = {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}
        progress.advance(self.train.epochs)
        logits = torch.from_numpy(h @ self._latest["weight"].T + self._latest["bias"])
        return np.array([functional.cross_entropy(logits, own)], np.float32)

    def _fitted(self, h: Array, y: torch.Tensor) -> tuple[Array, Array]:
        """Return weights and biases of the classes that have a node."""
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits  # scikit-learn brings it

        blas_buffers.take_for_scipy()
        model = LogisticRegression(
            C=self.params.c,
            max_iter=self.params.iterations,
            class_weight="balanced" if self.train.balance else None,
        )
        with threadpool_limits(self.train.threads):
            model.fit(h, y.cpu().numpy())
        if len(model.classes_) > 2:
            return model.coef_, model.intercept_
        # of two classes scikit-learn keeps one row, the log-odds
        coef = np.concatenate([-model.coef_, model.coef_]) / 2
        return coef, np.concatenate([-model.intercept_, model.intercept_]) / 2

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
