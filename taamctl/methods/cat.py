"""CaT: condense and train.

The model is trained on condensed rows only, the current task's included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.condensed import CondensedMethod
from taamctl.learning.kernels import condense


@dataclass(frozen=True)
class Params:
    """CaT's own parameters."""

    budget: int = param(
        "condensed rows per class on average; shared among a task's classes in proportion to their "
        "sizes",
        ge=1,
    )
    encoders: int = param("random encoders that class means are matched under", ge=1)
    width: int = param("rows of an encoder", ge=1)
    condense_lr: float = param("Adam's learning rate for the condensed rows", gt=0)
    epochs: int = param("passes over the memory per task; replaces train.epochs", ge=1)


class Method(CondensedMethod):
    """Plain CE over the classes seen, on the condensed rows of all tasks so far; the net goes on
    from task to task.

    The encoders see H of real nodes and bare condensed rows. Its own metric is micro accuracy; the
    budget here is per class, so that it compares with the other memories. Source: Liu, Qiu and
    Huang (2023).
    """

    facts: ClassVar[Facts] = Facts(
        title="CaT",
        family="replay",
        source="Liu, Qiu and Huang (2023)",
        sees="current",
        task_id="none",
        needs=("x",),
        memory="condensed rows, b per class on average",
    )
    params: Params

    def condense(
        self, real: list[torch.Tensor], made: list[torch.Tensor], generator: np.random.Generator
    ) -> None:
        """Match class means under many encoders, one update each."""
        p = self.params
        condense.match_means(
            real, made, p.width, p.encoders, 1, p.condense_lr, True, generator, self.progress
        )
