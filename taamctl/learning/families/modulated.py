"""What TAAM and TAAM-L share: a frozen random backbone, one modulator and one block of
classifier rows per task.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.contract.method import Method, State, Stored, to_arrays, to_tensors
from taamctl.learning.kernels import loop, loss
from taamctl.models import heads, modulators, sweep
from taamctl.models.backbones import HIDDEN, FrozenBackbone
from taamctl.models.layer import Terms
from taamctl.params.train_params import TrainParams

# profile -> (which classifier rows are trained, which classes the loss ranges over, logit scope of
# the headline number)
PROFILES = {
    "release": ("none", "seen", "up_to_task"),
    "text": ("new_rows", "new_classes", "task_only"),
    "strict_gcil": ("new_rows", "seen", "all_seen"),
}
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}
Readings = dict[str, tuple[str, str, str]]


class ModulatedMethod(Method):
    """A Neural Synapse Modulator per task over the frozen backbone.

    An ablation overrides a step, or brings readings of its own.

    release: no classifier row is ever trained, the loss ranges over all classes seen, predictions
    over the classes up to the inferred task. text: the new rows are trained, loss and prediction
    range over the task's own classes. strict_gcil: new rows trained, loss and prediction over all
    classes seen. Source: TAAM (2026), released code, text, and neither.
    """

    readings: ClassVar[Readings] = PROFILES

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self._rows, self._range, self._scope = self.readings[self.reading]
        self.backbone = FrozenBackbone.draw(info.num_features, seed).to(device)
        self.modulators: list[modulators.Weights] = []
        self._head: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._latest: tuple[modulators.Weights, tuple[torch.Tensor, torch.Tensor]] | None = None

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
        return self._rows == "none" or self._range == "new_classes"

    @property
    def cumulative(self) -> bool:
        """Tell whether later tasks change no logit: a modulator and the rows of a task stay as
        they were learned.
        """
        return True

    @property
    def scope(self) -> str:
        """Return the profile's logit scope."""
        return self._scope

    @property
    def variant(self) -> str:
        """Return the profile."""
        return str(self.params.profile)

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train one modulator (and its classifier rows where the profile says so) on one task."""
        data, k = tasks[-1], tasks[-1].task.index
        low = self.info.bounds[k][0]
        weights = {n: w.to(self.device).requires_grad_() for n, w in self.start(k).items()}
        new = self._new_rows(k)
        trained = list(weights.values())
        if self._rows == "new_rows":
            trained += [r.requires_grad_() for r in new]
        first = low if self._range == "new_classes" else 0
        old = [] if first == low else [self._rows_of(i) for i in range(k)]
        h, y = data.h.to(self.device), data.y.to(self.device) - first
        node_weights = loss.node_weights(
            data.y.to(self.device), self.info.num_classes, self.train.balance
        )
        with sweep.workers(self.device) as spread:
            base = self.base(h, spread)

            def part(rows: torch.Tensor | slice) -> tuple[sweep.Inputs, sweep.Targets]:
                chosen = node_weights[rows]
                return self.prepare(h[rows], base[rows], spread, training=True), sweep.Targets(
                    y[rows], chosen / chosen.sum()
                )

            whole = None if loop.batched(len(y), self.train) else part(slice(None))

            def objective(rows: torch.Tensor | None) -> torch.Tensor:
                inputs, targets = whole or part(slice(None) if rows is None else rows)
                weight, bias = _stack([*old, new])
                return sweep.weighted_loss(
                    inputs, targets, self.terms(weights), weight @ self.backbone.w2, bias, spread
                )

            if trained:
                history = loop.fit(
                    loop.adam(trained, self.train),
                    objective,
                    len(y),
                    self.train,
                    torch_generator(self.seed, "batches", k),
                    progress,
                    self.device,
                )
            else:
                history = np.array([float(objective(None))], np.float32)
                progress.advance(self.steps(k))
        self._latest = (
            {n: w.detach() for n, w in weights.items()},
            (new[0].detach(), new[1].detach()),
        )
        if k == len(self.modulators):
            self.modulators.append(self._latest[0])
            self._head.append(self._latest[1])
        return history

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

    @property
    def normalise(self) -> bool:
        """Tell whether LN(h) is scaled, and not h."""
        return True

    def terms(self, weights: modulators.Weights) -> Terms | None:
        """Return what the layer reads of a modulator; None: h stays as it is."""
        return modulators.terms(weights)

    @property
    def precision(self) -> torch.dtype | None:
        """Return the dtype of the dense products in training; None: float32."""
        return PRECISIONS[getattr(self.params, "precision", "float32")]

    def draw_rows(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw the classifier rows that task `k` adds."""
        return heads.draw_rows(self.seed, k, *self.info.bounds[k])

    def kept_modulators(self) -> int:
        """Return how many modulators are kept at the end of the stream."""
        return self.info.num_tasks

    def _new_rows(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        weight, bias = self.draw_rows(k)
        return weight.to(self.device), bias.to(self.device)

    def _rows_of(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return an earlier task's rows: as learned, or redrawn from the seed where rows are
        never trained.
        """
        return self._head[k] if self._rows == "new_rows" else self._new_rows(k)

    def shared(self) -> dict[str, Array]:
        """Return the frozen backbone."""
        return to_arrays({"w1": self.backbone.w1, "w2": self.backbone.w2})

    def state(self) -> dict[str, Array]:
        """Return the task's modulator and classifier rows."""
        assert self._latest is not None
        weights, (head, bias) = self._latest
        return to_arrays(
            {**{f"nsm/{n}": w for n, w in weights.items()}, "head/weight": head, "head/bias": bias}
        )

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install backbone, modulators and classifier rows of tasks 0..len(states) - 1."""
        if shared:
            tensors = to_tensors(shared, self.device)
            self.backbone = FrozenBackbone(tensors["w1"], tensors["w2"])
        self.modulators, self._head = [], []
        for state in states:
            tensors = to_tensors(state, self.device)
            self.modulators.append(
                {n.removeprefix("nsm/"): t for n, t in tensors.items() if n.startswith("nsm/")}
            )
            self._head.append((tensors["head/weight"], tensors["head/bias"]))

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the logits of all classes seen under the modulator of `task_id`."""
        h = query.h.to(self.device)
        weight, bias = _stack(self._head)
        with sweep.workers(self.device) as spread:
            inputs = self.prepare(h, self.base(h, spread), spread, training=False)
            return sweep.logits(
                inputs,
                self.terms(self.modulators[task_id]),
                weight @ self.backbone.w2,
                bias,
                spread,
            )

    def stored(self, class_sizes: Array) -> Stored:
        """Return modulators of all tasks, the classifier with bias, and the 2F of the shared
        (never trained) LayerNorm.
        """
        per_task = sum(
            w.numel() for w in self.draw(torch_generator(self.seed, "modulator", 0)).values()
        )
        f, c = self.info.num_features, self.info.num_classes
        norm = 2 * f if per_task else 0
        return Stored(
            parameters=self.kept_modulators() * per_task + (HIDDEN + 1) * c + norm,
            net=HIDDEN * (f + HIDDEN),
        )


def _stack(
    blocks: Sequence[tuple[torch.Tensor, torch.Tensor]],
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.cat([w for w, _ in blocks]), torch.cat([b for _, b in blocks])
