"""TAAM without the unified classifier: an independent head per task. An ablation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import ModulatedMethod
from taamctl.models import heads, modulators


@dataclass(frozen=True)
class Params:
    """Its own parameters."""

    profile: str = param(
        "release: the heads are never trained; text: they are", choices=("release", "text")
    )
    d_task: int = param("as for taam", ge=1, le=4096)
    heads: int = param("as for taam", ge=1, le=64)
    rank: int = param("as for taam", ge=1, le=4096)


class Method(ModulatedMethod):
    """A Xavier head 256 -> |C_k| per task; loss and prediction range over the task's own classes.

    Source: TAAM (AAMAS 2026), ablation "w/o Unified Classifier"; in its table within 1.5 points of
    the full method, both ways.
    """

    facts: ClassVar[Facts] = Facts(
        title="TAAM w/o unified classifier",
        family="ablation",
        source="TAAM (AAMAS 2026)",
        sees="current",
        task_id="inferred",
    )
    params: Params
    readings: ClassVar = {
        "release": ("none", "new_classes", "task_only"),
        "text": ("new_rows", "new_classes", "task_only"),
    }

    def draw(self, generator: torch.Generator) -> modulators.Weights:
        """Draw a low-rank modulator."""
        p = self.params
        return modulators.draw_low_rank(
            self.info.num_features, p.d_task, p.heads, p.rank, generator
        )

    def draw_rows(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Draw a head whose scale knows of its own classes only."""
        low, high = self.info.bounds[k]
        return heads.draw_rows(self.seed, k, 0, high - low)
