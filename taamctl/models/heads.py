"""The unified classifier as a list of row blocks, one per task, each a function of (seed, task)
alone.
"""

from __future__ import annotations

import torch

from taamctl.core.seeding import torch_generator
from taamctl.models import initialise
from taamctl.models.backbones import HIDDEN


def draw_rows(seed: int, task: int, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw the classifier rows that task `task` adds: weight [high - low, 256] and zero bias.

    The classifier after the task has `high` rows, drawn Xavier-uniform with bound sqrt(6 / (256 +
    high)); earlier rows are kept.
    """
    generator = torch_generator(seed, "head", task)
    return initialise.xavier_uniform(high - low, HIDDEN, generator, fan_out=high), torch.zeros(
        high - low
    )
