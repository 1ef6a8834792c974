"""What TAAM and TAAM-L share: a frozen random backbone, one modulator and one block of
classifier rows per task.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Method, State, Stored, below, to_arrays, to_tensors
from taamctl.learning.kernels import loop, loss
from taamctl.models import heads, modulators, sweep
from taamctl.models.backbones import HIDDEN, FrozenBackbone
from taamctl.models.layer import Terms


@dataclass(frozen=True)
class Reading:
    """One way to read what was published.

    Attributes:
        trains_rows: whether a task's classifier rows are trained.
        own_classes: whether the loss ranges over the task's own classes, or over all classes seen.
        scope: logit scope of the headline number.
    """

    trains_rows: bool
    own_classes: bool
    scope: str


READINGS = {
    "release": Reading(trains_rows=False, own_classes=False, scope="up_to_task"),
    "text": Reading(trains_rows=True, own_classes=True, scope="task_only"),
    "strict_gcil": Reading(trains_rows=True, own_classes=False, scope="all_seen"),
}
PRECISIONS = ("float32", "bfloat16")


class ModulatedMethod(Method):
    """A Neural Synapse Modulator per task over the frozen backbone.

    An ablation overrides a step, or brings readings of its own.

    release: no classifier row is ever trained, the loss ranges over all classes seen, predictions
    over the classes up to the inferred task. text: the new rows are trained, loss and prediction
    range over the task's own classes. strict_gcil: new rows trained, loss and prediction over all
    classes seen. Source: TAAM (2026), released code, text, and neither.
    """

    work = "modulated"
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    cumulative = True  # a modulator and the rows of a task stay as they were learned
    _latest: tuple[modulators.Weights, heads.Block]

    def setup(self) -> None:
        """Draw the backbone."""
        drawn = FrozenBackbone.draw(self.info.num_features, self.seed)
        self.backbone = drawn.to(self.device)
        self.modulators: list[modulators.Weights] = []
        self._head: list[heads.Block] = []

    @property
    def how(self) -> Reading:
        """Return the reading that the parameters name."""
        return self.readings[self.reading]

    @property
    def reading(self) -> str:
        """Return the key of `readings` that the parameters name."""
        return self.variant

    @abstractmethod
    def draw(self, generator: torch.Generator) -> modulators.Weights:
        """Draw one task's modulator."""

    @property
    def independent(self) -> bool:
        """Tell whether tasks are independent: trained rows of earlier tasks enter a loss over
        all classes seen.
        """
        return self.how.own_classes or not self.how.trains_rows

    @property
    def scope(self) -> str:
        """Return the reading's logit scope."""
        return self.how.scope

    @property
    def normalise(self) -> bool:
        """Tell whether LN(h) is scaled, and not h."""
        return True

    @property
    def precision(self) -> torch.dtype | None:
        """Return the dtype of the dense products in training; None: float32."""
        if getattr(self.params, "precision", "float32") == "bfloat16":
            return torch.bfloat16
        return None

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train one modulator (and its classifier rows where the reading says so) on one task."""
        data = tasks[-1]
        k = data.task.index
        weights = {n: w.to(self.device).requires_grad_() for n, w in self.start(k).items()}
        new = self._new_rows(k)
        trained = list(weights.values())
        if self.how.trains_rows:
            trained += [rows.requires_grad_() for rows in new]
        with sweep.workers(self.device) as spread:
            objective = self._objective(data, weights, new, spread)
            if trained:
                history = loop.fit(
                    loop.adam(trained, self.train),
                    objective,
                    len(data.y),
                    train=self.train,
                    seed=self.seed,
                    task=k,
                    progress=progress,
                )
            else:
                history = np.array([float(objective(loop.ALL))], np.float32)
                progress.advance(self.steps(k))
        self._latest = (
            {n: w.detach() for n, w in weights.items()},
            (new[0].detach(), new[1].detach()),
        )
        if k == len(self.modulators):
            self.modulators.append(self._latest[0])
            self._head.append(self._latest[1])
        return history

    def _objective(
        self, data: TaskData, weights: modulators.Weights, new: heads.Block, spread: sweep.Map
    ) -> loop.Loss:
        """Return the weighted cross-entropy of head(W2 LeakyReLU(W1 h')), h' the features as
        `weights` modulate them.
        """
        first = data.task.low if self.how.own_classes else 0
        old = [] if self.how.own_classes else [self._rows_of(i) for i in range(data.task.index)]
        h = data.h.to(self.device)
        labels = data.y.to(self.device)
        node_weights = loss.node_weights(labels, self.info.num_classes, self.train.balance)
        base = self.base(h, spread)

        def part(rows: loop.Rows) -> tuple[sweep.Inputs, sweep.Targets]:
            inputs = self.prepare(h[rows], base[rows], spread, training=True)
            chosen = node_weights[rows]
            return inputs, sweep.Targets(labels[rows] - first, chosen / chosen.sum())

        whole = None if loop.batched(len(labels), self.train) else part(loop.ALL)

        def objective(rows: loop.Rows) -> torch.Tensor:
            inputs, targets = whole or part(rows)
            weight, bias = heads.stacked([*old, new])
            folded = weight @ self.backbone.w2
            return sweep.weighted_loss(inputs, targets, self.terms(weights), folded, bias, spread)

        return objective

    def start(self, k: int) -> modulators.Weights:
        """Return the modulator that task `k` starts from: a new one."""
        return self.draw(torch_generator(self.seed, "modulator", k))

    def base(self, h: torch.Tensor, spread: sweep.Map) -> torch.Tensor:
        """Return W1 h, [N, 256], which training does not change."""
        return sweep.base_of(h, self.backbone.w1, spread)

    def prepare(
        self, h: torch.Tensor, base: torch.Tensor, spread: sweep.Map, *, training: bool
    ) -> sweep.Inputs:
        """Return the rest of what training does not change; predictions are always made in
        float32, by dense products.
        """
        return sweep.prepare(
            h,
            base,
            self.backbone.w1,
            spread,
            low=self.precision if training else None,
            sparse=training,
            normalise=self.normalise,
        )

    def terms(self, weights: modulators.Weights) -> Terms | None:
        """Return what the layer reads of a modulator; None: h stays as it is."""
        return modulators.terms(weights)

    def draw_rows(self, k: int) -> heads.Block:
        """Draw the classifier rows that task `k` adds."""
        return heads.draw_rows(self.seed, k, *self.info.bounds[k])

    def kept_modulators(self) -> int:
        """Return how many modulators are kept at the end of the stream."""
        return self.info.num_tasks

    def _new_rows(self, k: int) -> heads.Block:
        weight, bias = self.draw_rows(k)
        return weight.to(self.device), bias.to(self.device)

    def _rows_of(self, k: int) -> heads.Block:
        """Return an earlier task's rows: as learned, or redrawn from the seed where rows are
        never trained.
        """
        return self._head[k] if self.how.trains_rows else self._new_rows(k)

    def shared(self) -> dict[str, Array]:
        """Return the frozen backbone."""
        return to_arrays({"w1": self.backbone.w1, "w2": self.backbone.w2})

    def state(self) -> dict[str, Array]:
        """Return the task's modulator and classifier rows."""
        weights, (head, bias) = self._latest
        named = {f"nsm/{n}": w for n, w in weights.items()}
        return to_arrays({**named, "head/weight": head, "head/bias": bias})

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install backbone, modulators and classifier rows of tasks 0..len(states) - 1."""
        if shared:
            self.backbone = FrozenBackbone(**to_tensors(shared, self.device))
        tensors = [to_tensors(state, self.device) for state in states]
        self.modulators = [below("nsm/", t) for t in tensors]
        self._head = [(t["head/weight"], t["head/bias"]) for t in tensors]

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the logits of all classes seen under the modulator of `task_id`."""
        h = query.h.to(self.device)
        terms = self.terms(self.modulators[task_id])
        weight, bias = heads.stacked(self._head)
        with sweep.workers(self.device) as spread:
            inputs = self.prepare(h, self.base(h, spread), spread, training=False)
            return sweep.logits(inputs, terms, weight @ self.backbone.w2, bias, spread)

    def stored(self, class_sizes: Array) -> Stored:
        """Return modulators of all tasks, the classifier with bias, and the 2F of the shared
        (never trained) LayerNorm.
        """
        drawn = self.draw(torch_generator(self.seed, "modulator", 0))
        per_task = sum(w.numel() for w in drawn.values())
        f = self.info.num_features
        parameters = self.kept_modulators() * per_task + (HIDDEN + 1) * self.info.num_classes
        if per_task:
            parameters += 2 * f
        return Stored(parameters=parameters, net=HIDDEN * (f + HIDDEN))
