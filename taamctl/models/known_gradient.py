"""A number whose gradients were computed beside it: autograd takes them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol, TypeAlias

from taamctl.core.late_torch import torch

Gradients: TypeAlias = "Sequence[torch.Tensor | None]"


def known(
    value: torch.Tensor, inputs: Sequence[torch.Tensor], gradients: Gradients
) -> torch.Tensor:
    """Return `value` as a function of `inputs`; differentiable once.

    Args:
        value: a scalar without a graph of its own.
        gradients: of `value` by every input, of its shape; None where it is not wanted.
    """
    made = _function().apply(value, gradients, *inputs)  # type: ignore[no-untyped-call]
    found: torch.Tensor = made
    return found


class _Context(Protocol):
    gradients: Gradients


@cache
def _function() -> type[torch.autograd.Function]:
    """Return the function; as a class of torch's, it is made when it is first used."""

    class Known(torch.autograd.Function):
        @staticmethod
        def forward(
            ctx: _Context, value: torch.Tensor, gradients: Gradients, *inputs: torch.Tensor
        ) -> torch.Tensor:
            ctx.gradients = gradients
            return value.clone()

        @staticmethod
        def backward(ctx: _Context, upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            scaled = (None if each is None else each * upstream for each in ctx.gradients)
            return None, None, *scaled

    return Known
