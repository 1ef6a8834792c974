"""The loss of the modulated frozen net and all its gradients in one sweep over blocks of rows.

A block goes forward and back while it is in the cache; what is kept of it is its share of the
gradients. Blocks are added up in their order, whichever thread took them, and every block is
computed by one thread: no bit depends on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional

from taamctl.core import subnormals
from taamctl.models.backbones import SLOPE
from taamctl.models.layer import Gradients, Products, Rows, Terms, dense_rows, sparse_rows

ELEMENTS, LEAST, MOST = (
    1 << 18,
    256,
    1024,
)  # of a block on a CPU: it stays in the cache, and has rows enough for a fast product
# share of entries that are not zero under which sparse products win on a CPU; tests/benchmarks
# measures it
SPARSE = 0.25
Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


@dataclass(frozen=True)
class Inputs:
    """Everything of a part that training does not change.

    Attributes:
        blocks: the nodes, in order. bounds: their rows (low, high). w1: [256, F].
    """

    blocks: tuple[Rows, ...]
    bounds: tuple[tuple[int, int], ...]
    w1: torch.Tensor


@dataclass(frozen=True)
class Targets:
    """What the loss compares with: y [N] column ids of the logits, weights [N] that sum to 1."""

    y: torch.Tensor
    weights: torch.Tensor


def split_rows(n: int, width: int, device: torch.device) -> tuple[tuple[int, int], ...]:
    """Return the rows of every block: near-equal and even in number on a CPU, one block on a GPU,
    where launches cost more than memory.

    Args:
        width: numbers that a row brings into the cache.
    """
    most = min(MOST, max(LEAST, ELEMENTS // max(1, width)))
    count = 1 if device.type == "cuda" else 2 * max(1, math.ceil(n / (2 * most)))
    edges = [n * i // count for i in range(count + 1)]
    return tuple((a, b) for a, b in pairwise(edges) if b > a)


@contextmanager
def workers(device: torch.device) -> Iterator[Map]:
    """Yield a `map` over blocks with as many threads as torch was pinned to.

    Inside, every operation is computed by one thread.
    """
    threads = torch.get_num_threads()
    if device.type == "cuda":
        yield map
        return
    torch.set_num_threads(1)
    try:
        if threads == 1:
            yield map
        else:
            with ThreadPoolExecutor(threads, initializer=subnormals.for_new_threads()) as pool:
                yield pool.map
    finally:
        torch.set_num_threads(threads)


def base_of(h: torch.Tensor, w1: torch.Tensor, spread: Map) -> torch.Tensor:
    """Return W1 h, [N, 256]."""
    made = list(
        spread(
            lambda rows: functional.linear(h[slice(*rows)], w1),
            split_rows(len(h), h.shape[1], h.device),
        )
    )
    return torch.cat(made) if made else h.new_zeros(0, len(w1))


def prepare(
    h: torch.Tensor,
    base: torch.Tensor,
    w1: torch.Tensor,
    spread: Map,
    *,
    low: torch.dtype | None = None,
    sparse: bool = True,
    normalise: bool = True,
) -> Inputs:
    """Compute what training does not change: LN(h), or the stored entries of H where they are few.

    Args:
        h: [N, F]. base: W1 h [N, 256], or zeros where h' has no residual. w1: [256, F] frozen.
        spread: as `workers` gives it.
        low: dtype of the dense products with W1; None: that of h. Sparse products keep the dtype of
            h.
        sparse: take sparse products where they win. False for predictions: a node's last bits must
            not depend on the others' zeros.
        normalise: scale LN(h), not h.
    """
    sparse = (
        sparse and h.device.type == "cpu" and torch.count_nonzero(h).item() < SPARSE * h.numel()
    )
    bounds = split_rows(len(h), 0 if sparse else h.shape[1], h.device)
    w = w1.T.contiguous() if sparse else w1.to(low or h.dtype)
    make: Callable[[torch.Tensor, torch.Tensor, torch.Tensor, bool], Rows] = (
        sparse_rows if sparse else dense_rows
    )
    return Inputs(
        tuple(spread(lambda rows: make(h[slice(*rows)], base[slice(*rows)], w, normalise), bounds)),
        bounds,
        w1,
    )


def weighted_loss(
    inputs: Inputs,
    targets: Targets,
    terms: Terms | None,
    weight: torch.Tensor,
    bias: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """Return sum_v w_v CE_v of the logits; differentiable in the modulator's terms, `weight` and
    `bias`.

    Args:
        terms: None leaves h as it is.
        weight: the head folded into W2, [C, 256]. bias: [C].
        spread: maps a function over blocks.
    """
    parts = (None,) * 4 if terms is None else terms
    loss: torch.Tensor = _Sweep.apply(inputs, targets, spread, weight, bias, *parts)  # type: ignore[no-untyped-call]
    return loss


def logits(
    inputs: Inputs, terms: Terms | None, weight: torch.Tensor, bias: torch.Tensor, spread: Map
) -> torch.Tensor:
    """Return the logits of every node, [N, C], without gradients; arguments as for
    `weighted_loss`.
    """
    weight, bias = weight.detach(), bias.detach()
    step = None if terms is None else Products.of(Terms(*(t.detach() for t in terms)), inputs.w1)
    made = list(
        spread(
            lambda rows: functional.linear(
                functional.leaky_relu(_hidden(rows, step)[0], SLOPE), weight, bias
            ),
            inputs.blocks,
        )
    )
    return torch.cat(made) if made else weight.new_zeros(0, len(weight))


def _hidden(rows: Rows, step: Products | None) -> tuple[torch.Tensor, torch.Tensor]:
    return (rows.base, rows.base) if step is None else rows.forward(step)


class _Sweep(torch.autograd.Function):
    """The loss; its gradients are computed with it, because each block is in the cache then."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Inputs,
        targets: Targets,
        spread: Map,
        weight: torch.Tensor,
        bias: torch.Tensor,
        *parts: torch.Tensor | None,
    ) -> torch.Tensor:
        terms = None if parts[0] is None else Terms(*parts)  # type: ignore[arg-type]
        step = None if terms is None else Products.of(terms, inputs.w1)
        head = ctx.needs_input_grad[3]

        def block(
            index: int,
        ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor] | None, Gradients | None]:
            with torch.no_grad():  # of this thread
                low, high = inputs.bounds[index]
                rows = inputs.blocks[index]
                z, a = _hidden(rows, step)
                loss, upstream, of_head = _tail(
                    z, weight, bias, targets.y[low:high], targets.weights[low:high], head
                )
                return loss, of_head, None if step is None else rows.backward(step, upstream, a)

        total, of_head, sums = (
            weight.new_zeros(()),
            (torch.zeros_like(weight), torch.zeros_like(bias)),
            None,
        )
        for loss, more, gradients in spread(block, range(len(inputs.blocks))):
            total += loss
            if more is not None:
                of_head[0].add_(more[0])
                of_head[1].add_(more[1])
            if sums is None:
                sums = gradients
            elif gradients is not None:
                sums.add(gradients)
        made = (None,) * 4 if sums is None else sums.of_terms(inputs.w1)
        ctx.made = (*(of_head if head else (None, None)), *made)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        return (None, None, None, *(None if g is None else g * gradients[0] for g in ctx.made))


def _tail(
    z: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor,
    head: bool,
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, torch.Tensor] | None]:
    """Return a block's loss, its gradient by z [R, 256], and that of the head where it is
    trained.
    """
    active = functional.leaky_relu(z, SLOPE)
    chance = torch.log_softmax(torch.addmm(bias, active, weight.T), dim=1)
    at = y[:, None]
    loss = -(chance.gather(1, at)[:, 0] * weights).sum()
    error = chance.exp_().scatter_add_(1, at, chance.new_full(at.shape, -1)).mul_(weights[:, None])
    upstream = torch.ops.aten.leaky_relu_backward(error @ weight, z, SLOPE, False)
    return loss, upstream, (error.T @ active, error.sum(0)) if head else None
