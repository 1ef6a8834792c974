"""How a bank answers, as nodes of ONNX: from hop features to class, task, confidence, novelty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from taamctl.bank.onnx_nodes import ALONG, Builder, modulated, normalised_rows, profile
from taamctl.bank.open_bank import OpenBank
from taamctl.bank.router import thresholds
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.learning.families.modulated import ModulatedMethod
from taamctl.models.backbones import SLOPE

if TYPE_CHECKING:
    from taamctl.learning.contract.method import Method

LINEAR = {"weight", "bias"}  # what a task keeps whose model is one linear layer


def add_answer(b: Builder, bank: OpenBank, hops: Mapping[int, str], decide: str) -> str:
    """Add `scores`, `class`, `task`, `confidence`, and return what novelty a node may have; its own
    novelty is `own_novelty`.

    Args:
        hops: j -> S^j X.
    """
    router, settings = bank.router, bank.config.bank
    phi = profile(b, hops, settings.router.hops, bank.shared.lift)
    scores = b.add("MatMul", phi, router.weight.numpy(), to="scores")
    best = b.where_largest(scores)
    short = b.add("Sub", b.add("Gather", router.mean, best), b.largest(scores))
    b.add("Div", short, b.add("Gather", router.deviation, best), to="own_novelty")
    chance = b.add("Softmax", b.add("Mul", scores, float(settings.temperature)), axis=1)
    owned = router.owner[:, None] == np.arange(len(bank.manifest.tasks))
    posterior = b.add("MatMul", chance, owned.astype(np.float32))
    if decide == "router":
        label = b.add("ArgMax", chance, to="class", axis=1, keepdims=0)
        b.add("ReduceMax", chance, ALONG, to="confidence", keepdims=0)
    else:
        asked = min(settings.top, owned.shape[1]) if decide == "soft" else 1
        h = hops[bank.config.precompute.hops]
        label = _add_experts(b, bank, h, posterior, asked)
    numbers = np.array([task.number for task in bank.manifest.tasks])[router.owner]
    b.add("Gather", numbers, label, to="task")
    tables = [bank.task(t).quantiles for t in range(owned.shape[1])]
    return b.add("Gather", thresholds(tables, settings.unknown), b.where_largest(posterior))


def _add_experts(b: Builder, bank: OpenBank, h: str, posterior: str, asked: int) -> str:
    """Add `class` and `confidence` by the models of the `asked` likeliest tasks; return the
    former.
    """
    sure = []
    chosen = []
    for t, logits in enumerate(_logits(b, bank, h)):
        own = b.add("Softmax", logits, axis=1)
        sure.append(b.largest(own, keep=1))
        first = np.array([bank.manifest.bounds[t][0]])
        chosen.append(b.add("Add", b.where_largest(own, keep=1), first))
    joint = b.add("Mul", posterior, b.add("Concat", *sure, axis=1))
    least = _rank(b, posterior, asked)
    joint = b.add("Where", b.add("Less", posterior, least), -1.0, joint)
    task = b.where_largest(joint, keep=1)
    label = b.add("GatherElements", b.add("Concat", *chosen, axis=1), task, axis=1)
    b.add("ReduceMax", joint, ALONG, to="confidence", keepdims=0)
    return b.add("Squeeze", label, ALONG, to="class")


def _rank(b: Builder, values: str, k: int) -> str:
    """Return the k-th largest number of every row, [N, 1]."""
    from onnx import helper

    b.nodes.append(helper.make_node("TopK", [values, b.constant([k])], ["top", "top_at"], axis=1))
    return b.add("ReduceMin", "top", ALONG, keepdims=1)


def _logits(b: Builder, bank: OpenBank, h: str) -> list[str]:
    """Return the logits of every task's own model.

    Raises:
        TaamctlError: a model that has no form in ONNX here.
    """
    experts = [bank.expert(t) for t in range(len(bank.manifest.tasks))]
    first = experts[0]
    if isinstance(first, ModulatedMethod):
        n = normalised_rows(b, h) if first.normalise else h
        w1 = b.constant(first.backbone.w1.numpy().T)
        return [_modulated_logits(b, bank, t, h, n, w1) for t in range(len(experts))]
    states = [bank.task(t).state for t in range(len(experts))]
    if all(set(state) == LINEAR for state in states):
        return [_linear(b, h, state["weight"], state["bias"]) for state in states]
    raise TaamctlError(
        f"the models of {bank.config.method} cannot be written as ONNX",
        "use --decide router: the regression over all classes can",
    )


def _modulated_logits(b: Builder, bank: OpenBank, t: int, h: str, n: str, w1: str) -> str:
    """Return head(W2 LeakyReLU(W1 h')) of one task."""
    expert = bank.expert(t)
    assert isinstance(expert, ModulatedMethod)
    state = bank.task(t).state
    terms = expert.terms(expert.modulators[0])
    moved = h
    if terms is not None:
        arrays = [term.numpy() for term in terms]
        moved = modulated(b, h, n, arrays, residual=_keeps_input(expert))
    hidden = b.add("LeakyRelu", b.add("MatMul", moved, w1), alpha=SLOPE)
    folded = state["head/weight"] @ expert.backbone.w2.numpy()
    return _linear(b, hidden, folded, state["head/bias"])


def _keeps_input(expert: Method) -> bool:
    """Tell whether h is added to what a modulator makes of it."""
    return bool(getattr(expert.params, "residual", True))


def _linear(b: Builder, rows: str, weight: Array, bias: Array) -> str:
    return b.add("Add", b.add("MatMul", rows, np.ascontiguousarray(weight.T)), bias)
