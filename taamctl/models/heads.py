"""The unified classifier as a list of row blocks, one per task, each a function of (seed, task)
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from taamctl.core.late_torch import torch
from taamctl.core.seeding import torch_generator
from taamctl.models.backbones import HIDDEN
from taamctl.models.initialise import xavier_uniform

Block: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"  # weight [rows, 256] and bias [rows]


def draw_rows(seed: int, task: int, low: int, high: int) -> Block:
    """Draw the classifier rows that task `task` adds: weight [high - low, 256] and zero bias.

    The classifier after the task has `high` rows, drawn Xavier-uniform with bound sqrt(6 / (256 +
    high)); earlier rows are kept.
    """
    generator = torch_generator(seed, "head", task)
    return xavier_uniform(high - low, HIDDEN, generator, fan_out=high), torch.zeros(high - low)


def stacked(blocks: Sequence[Block]) -> Block:
    """Return the rows of all blocks, one after the other."""
    return torch.cat([weight for weight, _ in blocks]), torch.cat([bias for _, bias in blocks])
