"""What TPP and GPF share: a frozen backbone, and per task a graph prompt and a head of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import functional, torch
from taamctl.core.progress import SILENT, Progress
from taamctl.core.seeding import torch_generator
from taamctl.core.spec import param
from taamctl.core.types import Array, QueryGraph, TaskData
from taamctl.learning.contract.method import Method, State, Stored, below, to_arrays, to_tensors
from taamctl.learning.kernels import grace, loop, loss
from taamctl.models.backbones import HIDDEN, FrozenBackbone
from taamctl.models.initialise import linear, uniform, xavier_uniform
from taamctl.propagation import group_graph

Prompt: TypeAlias = "Mapping[str, torch.Tensor]"


@dataclass(frozen=True)
class PromptParams:
    """What both methods set."""

    prompts: int = param("tokens of a prompt, P; one is a single vector added to every node", ge=1)
    position: str = param(
        "pre: the prompt is added to X, before propagation; post: to H, without any edge",
        choices=("pre", "post"),
    )
    pretrain: str = param("none: random backbone; grace: as for tpp", choices=("grace", "none"))
    pretrain_epochs: int = param("passes of pre-training", ge=1)
    pretrain_nodes: int = param(
        "most training nodes of the first task that grace takes: every pass compares all pairs of "
        "them",
        ge=1,
    )
    drop_edge: float = param("share of edges left out of the second view", ge=0, lt=1)
    drop_feature: float = param("share of feature columns zeroed in the second view", ge=0, lt=1)


class PromptedMethod(Method):
    """W1 h' with h' = H + (S^k Omega) P, Omega = softmax(X A^T + b) [N, P]: the prompt X + Omega P,
    added before propagation.

    Propagating Omega instead of the prompted features makes an epoch's sparse product N x P wide,
    not N x F. One token is one vector added to every node, and Omega is all ones. `position: post`
    adds Omega(H) P to H instead, without any edge.

    Attributes:
        balanced: whether the loss is class-balanced where train.balance says so.
        first_prompted: tasks before this one have no prompt.
    """

    params: PromptParams
    scope = "task_only"
    balanced = False
    first_prompted = 0

    def setup(self) -> None:
        """Draw the backbone."""
        drawn = FrozenBackbone.draw(self.info.num_features, self.seed)
        self._backbone = drawn.to(self.device)
        self._tasks: list[dict[str, torch.Tensor]] = []

    @property
    def independent(self) -> bool:
        """Tell whether tasks are independent: all but the first need what pre-training on the
        first gave.
        """
        return self.params.pretrain == "none"

    @property
    def variant(self) -> str:
        """Return how the backbone came about."""
        return {"none": "random backbone"}.get(self.params.pretrain, self.params.pretrain)

    def _pretrains(self, stage: int) -> bool:
        return stage == 0 and self.params.pretrain == "grace"

    def steps(self, stage: int) -> int:
        """Return the epochs of a stage, and those of pre-training with the first."""
        return self.epochs + self._pretrains(stage) * self.params.pretrain_epochs

    def learn(self, tasks: Sequence[TaskData], progress: Progress = SILENT) -> Array:
        """Train a prompt and a head; pre-train the backbone first where this is the first task."""
        data = tasks[-1]
        k = data.task.index
        h = data.h.to(self.device)
        y = data.y.to(self.device)
        if self._pretrains(k):
            self._pretrain(data, h, progress)
        drawn = {
            **self._draw_prompt(k, torch_generator(self.seed, "prompt", k)),
            **self._draw_head(k),
        }
        trained = {n: t.to(self.device).requires_grad_() for n, t in drawn.items()}
        weights = loss.node_weights(y, self.info.num_classes, self.balanced and self.train.balance)
        hidden = self._prompted(h, data.extras)

        def objective(rows: loop.Rows) -> torch.Tensor:
            logits = self._backbone.logits(
                hidden(trained), trained["head/weight"], trained["head/bias"]
            )
            return loss.weighted_cross_entropy(logits[rows], y[rows] - data.task.low, weights[rows])

        history = loop.fit(
            loop.adam(list(trained.values()), self.train),
            objective,
            len(y),
            train=self.train,
            seed=self.seed,
            task=k,
            progress=progress,
        )
        self._latest = {n: t.detach() for n, t in trained.items()}
        if self._pretrains(k):
            self._latest |= {"backbone/w1": self._backbone.w1, "backbone/w2": self._backbone.w2}
        return history

    def _pretrain(self, data: TaskData, h: torch.Tensor, progress: Progress) -> None:
        """Train the backbone on the first task's graph.

        Raises:
            TaamctlError: it has too many nodes.
        """
        most = self.params.pretrain_nodes
        if len(h) > most:
            raise TaamctlError(
                f"pretrain: grace compares all pairs of the {len(h):,} training nodes of the first "
                f"task in each of {self.params.pretrain_epochs:,} passes, and pretrain_nodes is "
                f"{most:,}",
                "give the method pretrain: none, or a larger pretrain_nodes where there is a GPU",
            )
        self._backbone = grace.pretrain(
            self._backbone,
            h,
            self._raw(h, data.extras),
            group_graph.adjacency(data.extras),
            self.info.hops,
            epochs=self.params.pretrain_epochs,
            drop_edge=self.params.drop_edge,
            drop_feature=self.params.drop_feature,
            generator=torch_generator(self.seed, "pretrain"),
            progress=progress,
        )

    def _raw(self, h: torch.Tensor, extras: Mapping[str, Array]) -> torch.Tensor:
        return group_graph.raw_rows(extras, torch.arange(len(h)), h.shape[1]).to(self.device)

    def _draw_prompt(self, k: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        f = self.info.num_features
        p = self.params.prompts
        if k < self.first_prompted:
            return {}
        prompt = {"prompt/tokens": xavier_uniform(p, f, generator)}
        if p > 1:
            prompt["prompt/weight"] = linear(p, f, generator)
            prompt["prompt/bias"] = uniform((p,), f**-0.5, generator)
        return prompt

    def _draw_head(self, k: int) -> dict[str, torch.Tensor]:
        low, high = self.info.bounds[k]
        weight = xavier_uniform(high - low, HIDDEN, torch_generator(self.seed, "head", k))
        return {"head/weight": weight, "head/bias": torch.zeros(high - low)}

    def _prompted(
        self, h: torch.Tensor, extras: Mapping[str, Array]
    ) -> Callable[[Prompt], torch.Tensor]:
        """Return a function prompt -> W1 h', [N, 256]; what no prompt changes is computed once."""
        w1 = self._backbone.w1
        base = functional.linear(h, w1)
        source = h
        even = torch.ones((len(h), 1), device=self.device)
        spread: Callable[[torch.Tensor], torch.Tensor] | None = None
        if self.params.position == "pre":
            s = group_graph.normalised(group_graph.adjacency(extras))
            spread = group_graph.Propagation(s, self.info.hops, self.device)
            even = spread(even)
            if self.params.prompts > 1:
                source = self._raw(h, extras)

        def hidden(prompt: Prompt) -> torch.Tensor:
            if "prompt/tokens" not in prompt:
                return base
            tokens = prompt["prompt/tokens"] @ w1.T
            if "prompt/weight" not in prompt:
                return base + even * tokens
            scores = functional.linear(source, prompt["prompt/weight"], prompt["prompt/bias"])
            share = torch.softmax(scores, dim=1)
            if spread is not None:
                share = spread(share)
            return base + share @ tokens

        return hidden

    def state(self) -> dict[str, Array]:
        """Return the task's prompt and head, and with the first task the pre-trained backbone."""
        return to_arrays(self._latest)

    def load(self, shared: State, states: Sequence[State], training: State | None = None) -> None:
        """Install prompts and heads of all tasks so far."""
        self._tasks = [to_tensors(s, self.device) for s in states]
        backbone = below("backbone/", self._tasks[0]) or to_tensors(shared, self.device)
        if backbone:
            self._backbone = FrozenBackbone(**backbone)

    def shared(self) -> dict[str, Array]:
        """Return the backbone; where it is pre-trained, the first task's state holds that."""
        return to_arrays({"w1": self._backbone.w1, "w2": self._backbone.w2})

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return all heads' outputs side by side, under the prompt of `task_id`."""
        hidden = self._prompted(query.h.to(self.device), query.extras)(self._tasks[task_id])
        weight = torch.cat([t["head/weight"] for t in self._tasks])
        bias = torch.cat([t["head/bias"] for t in self._tasks])
        return self._backbone.logits(hidden, weight, bias)

    def stored(self, class_sizes: Array) -> Stored:
        """Return prompts and heads of all tasks."""
        p = self.params.prompts
        prompt = p * self.info.num_features
        if p > 1:
            prompt = 2 * prompt + p
        prompted = self.info.num_tasks - self.first_prompted
        return Stored(
            parameters=prompted * prompt + (HIDDEN + 1) * self.info.num_classes,
            net=HIDDEN * (self.info.num_features + HIDDEN),
        )
