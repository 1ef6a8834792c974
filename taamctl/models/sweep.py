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
from typing import NamedTuple, Protocol, TypeVar

from taamctl.core import subnormals
from taamctl.core.late_torch import functional, torch
from taamctl.models.backbones import SLOPE
from taamctl.models.known_gradient import known
from taamctl.models.layer import Gradients, Products, Rows, Terms, dense_rows, sparse_rows
from taamctl.models.net_input import SPARSE

# Rows of a block on a CPU, and float32 numbers: it stays in the cache, and a product over it is
# fast.
LEAST = 256
MOST = 1024
ELEMENTS = 1 << 18
# Numbers of a block on a GPU, 1 GiB: launches cost time there, but memory ends as well.
ELEMENTS_ON_GPU = 1 << 28
Item = TypeVar("Item")
Made = TypeVar("Made")


class Map(Protocol):
    """`map` over one sequence, by whatever threads."""

    def __call__(self, work: Callable[[Item], Made], items: Sequence[Item], /) -> Iterator[Made]:
        """Return the results in the order of the items."""


@dataclass(frozen=True)
class Inputs:
    """Everything of a part that training does not change.

    Attributes:
        blocks: the nodes. at: [R] int64 each, which nodes a block holds. w1: [256, F].
        low: dtype of the dense products.
    """

    blocks: tuple[Rows, ...]
    at: tuple[torch.Tensor, ...]
    w1: torch.Tensor
    low: torch.dtype


@dataclass(frozen=True)
class Targets:
    """What the loss compares with: y [N] column ids of the logits, weights [N] that sum to 1."""

    y: torch.Tensor
    weights: torch.Tensor


class Head(NamedTuple):
    """The head folded into W2, [C, 256], its bias [C], and whether it is trained."""

    weight: torch.Tensor
    bias: torch.Tensor
    trained: bool


def split_rows(n: int, width: int, device: torch.device) -> tuple[tuple[int, int], ...]:
    """Return the rows of every block: near-equal and even in number on a CPU, as few on a GPU as
    its memory allows.

    Args:
        width: float32 numbers that a row brings into the cache; two bfloat16 ones count as one.
    """
    if device.type == "cuda":
        count = max(1, math.ceil(n * width / ELEMENTS_ON_GPU))
    else:
        most = min(MOST, max(LEAST, ELEMENTS // max(1, width)))
        count = 2 * max(1, math.ceil(n / (2 * most)))
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

    def block(rows: tuple[int, int]) -> torch.Tensor:
        return functional.linear(h[slice(*rows)], w1)

    made = spread(block, split_rows(len(h), h.shape[1], h.device))
    return torch.cat([h.new_zeros(0, len(w1)), *made])


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
    """Compute what training does not change: LN(h), or the stored entries of nodes that have few.

    Args:
        h: [N, F]. base: W1 h [N, 256], or zeros where h' has no residual. w1: [256, F] frozen.
        spread: as `workers` gives it.
        low: dtype of the dense products with W1; None: that of h. Sparse products keep the dtype of
            h.
        sparse: take sparse products where they win. False for predictions: a node's last bits must
            not depend on the others' zeros.
        normalise: scale LN(h), not h.
    """
    few, many = _by_entries(h, split=sparse and h.device.type == "cpu")
    turned = w1.T.contiguous()
    dense = w1.to(low or h.dtype)

    def sparse_block(rows: torch.Tensor) -> Rows:
        return sparse_rows(h[rows], base[rows], turned, normalise)

    def dense_block(rows: torch.Tensor) -> Rows:
        return dense_rows(h[rows], base[rows], dense, normalise)

    sparse_at = _cut(few, 0)
    dense_at = _cut(many, h.shape[1] * dense.element_size() // h.element_size())
    blocks = [*spread(sparse_block, sparse_at), *spread(dense_block, dense_at)]
    return Inputs(tuple(blocks), (*sparse_at, *dense_at), w1, dense.dtype)


def _by_entries(h: torch.Tensor, *, split: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the nodes with few stored entries and those with many, each in their order; all in one
    of the two where the other would be too few to pay for blocks of its own, and among those with
    many where they are not to be told apart.
    """
    if not split:
        every = torch.arange(len(h), device=h.device)
        return every[:0], every
    stored = torch.count_nonzero(h, dim=1)
    has_few = stored < SPARSE * h.shape[1]
    least = min(LEAST, len(h) // 4)
    if int(has_few.sum()) < least:
        has_few = torch.zeros_like(has_few)
    elif int((~has_few).sum()) < least and int(stored.sum()) < SPARSE * h.numel():
        has_few = torch.ones_like(has_few)
    return has_few.nonzero().flatten(), (~has_few).nonzero().flatten()


def _cut(rows: torch.Tensor, width: int) -> list[torch.Tensor]:
    return [rows[a:b] for a, b in split_rows(len(rows), width, rows.device)]


def weighted_loss(
    inputs: Inputs,
    targets: Targets,
    terms: Terms | None,
    weight: torch.Tensor,
    bias: torch.Tensor,
    spread: Map,
) -> torch.Tensor:
    """Return sum_v w_v CE_v of the logits; differentiable in the modulator's terms, `weight` and
    `bias`. Source: TAAM (2026), Eq. 11.

    Args:
        terms: None leaves h as it is.
        weight: the head folded into W2, [C, 256]. bias: [C].
        spread: maps a function over blocks.
    """
    tensors = [weight, bias, *(terms or ())]
    with torch.no_grad():
        given = [tensor.detach() for tensor in tensors]
        head = Head(given[0], given[1], weight.requires_grad)
        step = _products(given[2:], inputs)
        loss, gradients = _loss_and_gradients(inputs, targets, step, head, spread)
    return known(loss, tensors, gradients)


def logits(
    inputs: Inputs, terms: Terms | None, weight: torch.Tensor, bias: torch.Tensor, spread: Map
) -> torch.Tensor:
    """Return the logits of every node, [N, C], without gradients; arguments as for
    `weighted_loss`.
    """
    weight = weight.detach()
    bias = bias.detach()
    step = _products([t.detach() for t in terms or ()], inputs)

    def block(rows: Rows) -> torch.Tensor:
        active = functional.leaky_relu(_hidden(rows, step)[0], SLOPE)
        return functional.linear(active, weight, bias)

    made = torch.cat([weight.new_zeros(0, len(weight)), *spread(block, inputs.blocks)])
    if not inputs.at:
        return made
    return torch.empty_like(made).index_copy_(0, torch.cat(inputs.at), made)


def _products(terms: Sequence[torch.Tensor], inputs: Inputs) -> Products | None:
    return Products.of(Terms(*terms), inputs.w1, inputs.low) if terms else None


def _hidden(rows: Rows, step: Products | None) -> tuple[torch.Tensor, torch.Tensor]:
    return (rows.base, rows.base) if step is None else rows.forward(step)


def _loss_and_gradients(
    inputs: Inputs, targets: Targets, step: Products | None, head: Head, spread: Map
) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """Return the loss, and its gradients by the head's weight and bias and by the terms: they are
    computed with it, because each block is in the cache then.
    """
    weight, bias, trained = head

    def block(index: int) -> tuple[torch.Tensor, tuple[torch.Tensor, ...], Gradients | None]:
        with torch.no_grad():  # of this thread
            part = inputs.at[index]
            rows = inputs.blocks[index]
            z, a = _hidden(rows, step)
            loss, upstream, of_head = _tail(
                z, weight, bias, targets.y[part], targets.weights[part], trained
            )
            return loss, of_head, None if step is None else rows.backward(step, upstream, a)

    total = weight.new_zeros(())
    of_heads = [torch.zeros_like(weight), torch.zeros_like(bias)]
    sums: Gradients | None = None
    for loss, of_head, gradients in spread(block, range(len(inputs.blocks))):
        total += loss
        for whole, share in zip(of_heads, of_head, strict=trained):
            whole.add_(share)
        if sums is None:
            sums = gradients
        elif gradients is not None:
            sums.add(gradients)
    first: list[torch.Tensor | None] = [None, None]
    if trained:
        first = [*of_heads]
    if step is None:
        return total, first
    made = [None] * len(Terms._fields) if sums is None else sums.of_terms(inputs.w1)
    return total, [*first, *made]


def _tail(
    z: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    y: torch.Tensor,
    weights: torch.Tensor,
    trains_head: bool,
) -> tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return a block's loss, its gradient by z [R, 256], and that of the head where it is
    trained.
    """
    active = functional.leaky_relu(z, SLOPE)
    chance = torch.log_softmax(torch.addmm(bias, active, weight.T), dim=1)
    at = y[:, None]
    loss = -(chance.gather(1, at)[:, 0] * weights).sum()
    error = chance.exp_().scatter_add_(1, at, chance.new_full(at.shape, -1)).mul_(weights[:, None])
    upstream = torch.ops.aten.leaky_relu_backward(error @ weight, z, SLOPE, False)
    head = (error.T @ active, error.sum(0)) if trains_head else ()
    return loss, upstream, head
