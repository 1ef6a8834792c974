"""What TPP and GPF share: a frozen backbone, and per task a graph prompt and a head of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn import functional

from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.types import Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.contract.method import Method, State, Stored, to_arrays, to_tensors
from taamctl.learning.kernels import grace, loop, loss
from taamctl.models import initialise
from taamctl.models.backbones import HIDDEN, FrozenBackbone
from taamctl.params.train_params import TrainParams
from taamctl.propagation import differentiable

Prompt = Mapping[str, torch.Tensor]


class PromptedMethod(Method):
    """W1 h' with h' = H + (S^k Omega) P, Omega = softmax(X A^T + b) [N, P]: the prompt X + Omega P,
    added before propagation.

    Propagating Omega instead of the prompted features makes an epoch's sparse product N x P wide,
    not N x F. One token is one vector added to every node, and Omega is all ones. `position: post`
    adds Omega(H) P to H instead, without any edge. `params` needs the fields prompts, position,
    pretrain, pretrain_epochs, drop_edge and drop_feature.
    """

    balanced = False  # whether the loss is class-balanced where train.balance says so
    first_prompted = 0  # tasks before this one have no prompt

    def __init__(
        self, params: Any, info: StreamInfo, train: TrainParams, seed: int, device: torch.device
    ) -> None:
        super().__init__(params, info, train, seed, device)
        self._backbone = FrozenBackbone.draw(info.num_features, seed).to(device)
        self._tasks: list[dict[str, torch.Tensor]] = []

    @property
    def independent(self) -> bool:
        """Tell whether tasks are independent: all but the first need what pre-training on the
        first gave.
        """
        return bool(self.params.pretrain == "none")

    @property
    def scope(self) -> str:
        """Return the inferred task's own classes."""
        return "task_only"

    @property
    def variant(self) -> str:
        """Return how the backbone came about."""
        return "random backbone" if self.params.pretrain == "none" else str(self.params.pretrain)

    def steps(self, stage: int) -> int:
        """Return the epochs of a stage, and those of pre-training with the first."""
        return self.epochs + (
            self.params.pretrain_epochs if stage == 0 and self.params.pretrain == "grace" else 0
        )

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a prompt and a head; pre-train the backbone first where this is the first task."""
        data, k = tasks[-1], tasks[-1].task.index
        h, y = data.h.to(self.device), data.y.to(self.device)
        if k == 0 and self.params.pretrain == "grace":
            self._pretrain(data, h, progress)
        generator = torch_generator(self.seed, "prompt", k)
        trained = {
            n: t.to(self.device).requires_grad_()
            for n, t in {**self._draw_prompt(k, generator), **self._draw_head(k)}.items()
        }
        weights = loss.node_weights(y, self.info.num_classes, self.balanced and self.train.balance)
        hidden = self._prompted(h, data.extras)

        def objective(rows: torch.Tensor | None) -> torch.Tensor:
            logits = self._backbone.logits(
                hidden(trained), trained["head/weight"], trained["head/bias"]
            )
            lb, yb, wb = (
                (logits, y, weights) if rows is None else (logits[rows], y[rows], weights[rows])
            )
            return loss.weighted_cross_entropy(lb, yb - data.task.low, wb)

        history = loop.fit(
            loop.adam(list(trained.values()), self.train),
            objective,
            len(y),
            self.train,
            torch_generator(self.seed, "batches", k),
            progress,
            self.device,
        )
        self._latest = {n: t.detach() for n, t in trained.items()}
        if k == 0 and self.params.pretrain == "grace":
            self._latest |= {"backbone/w1": self._backbone.w1, "backbone/w2": self._backbone.w2}
        return history

    def _pretrain(self, data: TaskData, h: torch.Tensor, progress: Progress) -> None:
        p, e = self.params, data.extras
        x = differentiable.raw_rows(e, torch.arange(len(h)), h.shape[1]).to(self.device)
        self._backbone = grace.pretrain(
            self._backbone,
            h,
            x,
            differentiable.adjacency(e),
            self.info.hops,
            epochs=p.pretrain_epochs,
            drop_edge=p.drop_edge,
            drop_feature=p.drop_feature,
            generator=torch_generator(self.seed, "pretrain"),
            progress=progress,
        )

    def _draw_prompt(self, k: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        f, p = self.info.num_features, self.params.prompts
        if k < self.first_prompted:
            return {}
        tokens = {"prompt/tokens": initialise.xavier_uniform(p, f, generator)}
        if p < 2:
            return tokens
        return {
            **tokens,
            "prompt/weight": initialise.linear(p, f, generator),
            "prompt/bias": initialise.uniform((p,), f**-0.5, generator),
        }

    def _draw_head(self, k: int) -> dict[str, torch.Tensor]:
        low, high = self.info.bounds[k]
        return {
            "head/weight": initialise.xavier_uniform(
                high - low, HIDDEN, torch_generator(self.seed, "head", k)
            ),
            "head/bias": torch.zeros(high - low),
        }

    def _prompted(self, h: torch.Tensor, extras: Mapping[str, Any]) -> Any:
        """Return a function prompt -> W1 h', [N, 256]; what no prompt changes is computed once."""
        base, w1 = functional.linear(h, self._backbone.w1), self._backbone.w1
        ones = torch.ones((len(h), 1), device=self.device)
        before = self.params.position == "pre"
        spread = (
            differentiable.Propagation(
                differentiable.normalised(differentiable.adjacency(extras)),
                self.info.hops,
                self.device,
            )
            if before
            else None
        )
        source = (
            h
            if not before
            else differentiable.raw_rows(extras, torch.arange(len(h)), h.shape[1]).to(self.device)
            if self.params.prompts > 1
            else ones
        )
        even = spread(ones) if spread is not None else ones

        def hidden(prompt: Prompt) -> torch.Tensor:
            if "prompt/tokens" not in prompt:
                return base
            tokens = prompt["prompt/tokens"] @ w1.T
            if "prompt/weight" not in prompt:
                return base + even * tokens
            share = torch.softmax(
                functional.linear(source, prompt["prompt/weight"], prompt["prompt/bias"]), dim=1
            )
            return base + (share if spread is None else spread(share)) @ tokens

        return hidden

    def state(self) -> dict[str, Array]:
        """Return the task's prompt and head, and with the first task the pre-trained backbone."""
        return to_arrays(self._latest)

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install prompts and heads of all tasks so far."""
        self._tasks = [to_tensors(s, self.device) for s in states]
        if "backbone/w1" in self._tasks[0]:
            self._backbone = FrozenBackbone(
                self._tasks[0]["backbone/w1"], self._tasks[0]["backbone/w2"]
            )
        elif shared:
            tensors = to_tensors(shared, self.device)
            self._backbone = FrozenBackbone(tensors["w1"], tensors["w2"])

    def shared(self) -> dict[str, Array]:
        """Return the backbone; where it is pre-trained, the first task's state holds that."""
        return to_arrays({"w1": self._backbone.w1, "w2": self._backbone.w2})

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return all heads' outputs side by side, under the prompt of `task_id`."""
        hidden = self._prompted(query.h.to(self.device), query.extras)(self._tasks[task_id])
        weight, bias = (
            torch.cat([t[f"head/{n}"] for t in self._tasks]) for n in ("weight", "bias")
        )
        return self._backbone.logits(hidden, weight, bias)

    def stored(self, class_sizes: Array) -> Stored:
        """Return prompts and heads of all tasks."""
        f, t, p = self.info.num_features, self.info.num_tasks, self.params.prompts
        prompt = p * f if p < 2 else 2 * p * f + p
        net = HIDDEN * (f + HIDDEN)
        return Stored(
            parameters=(t - self.first_prompted) * prompt + (HIDDEN + 1) * self.info.num_classes,
            net=net,
        )
