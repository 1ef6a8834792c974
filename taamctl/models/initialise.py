"""Weight initialisations with an explicit generator, drawn on the CPU so that every device
starts from the same numbers.
"""

from __future__ import annotations

import math

from taamctl.core.late_torch import torch


def uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> torch.Tensor:
    """Return U(-bound, bound) of `shape`, float32."""
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


def linear(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Return a weight [rows, columns] as PyTorch's linear layer draws it: U(+-1/sqrt(columns))."""
    return uniform((rows, columns), 1 / math.sqrt(columns), generator)


def kaiming_uniform(rows: int, columns: int, a: float, generator: torch.Generator) -> torch.Tensor:
    """Return a weight [rows, columns], U(+-sqrt(6 / ((1 + a^2) columns)))."""
    return uniform((rows, columns), math.sqrt(6 / ((1 + a * a) * columns)), generator)


def xavier_uniform(
    rows: int, columns: int, generator: torch.Generator, *, fan_out: int | None = None
) -> torch.Tensor:
    """Return a weight [rows, columns], U(+-sqrt(6 / (columns + fan_out))); `fan_out` is `rows`
    unless given.
    """
    return uniform((rows, columns), math.sqrt(6 / (columns + (fan_out or rows))), generator)


def kaiming_normal(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Return a weight [rows, columns] of standard deviation 1/sqrt(columns)."""
    return torch.randn((rows, columns), generator=generator) / math.sqrt(columns)
