"""TAAM without modulators: the frozen backbone and the head alone.

An ablation, and with a trained head a control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import ModulatedMethod
from taamctl.models import modulators
from taamctl.models.layer import Terms


@dataclass(frozen=True)
class Params:
    """Its own parameters."""

    head: str = param(
        "frozen: nothing at all is trained, as in the paper's table; trained: the new rows are, "
        "over the new classes (not in the paper)",
        choices=("frozen", "trained"),
    )


class Method(ModulatedMethod):
    """h' = h. With a frozen head a random network: (50/T) sum_k 1/k per cent over the classes up to
    the right task.

    Source: TAAM (AAMAS 2026), ablation "w/o NSMs". The paper's gap to the full method is that of
    training against not training; with a trained head it is a point on Photo and eight on Citeseer.
    """

    facts: ClassVar[Facts] = Facts(
        title="TAAM w/o NSMs",
        family="ablation",
        source="TAAM (AAMAS 2026)",
        sees="current",
        task_id="inferred",
    )
    params: Params
    readings: ClassVar = {
        "frozen": ("none", "seen", "up_to_task"),
        "trained": ("new_rows", "new_classes", "task_only"),
    }

    @property
    def variant(self) -> str:
        """Return what is trained."""
        return f"{self.params.head} head"

    @property
    def reading(self) -> str:
        """Return the key of `readings`."""
        return self.params.head

    def draw(self, generator: torch.Generator) -> modulators.Weights:
        """Draw nothing."""
        return {}

    def terms(self, weights: modulators.Weights) -> Terms | None:
        """Return nothing: h stays as it is."""
        return None
