"""TAAM without the unified classifier: an independent head per task. An ablation."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from taamctl.core.late_torch import torch
from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import READINGS, ModulatedMethod, Reading
from taamctl.models import heads
from taamctl.models.modulators import Weights, draw_low_rank


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

    facts = Facts(
        title="TAAM w/o unified classifier",
        family="ablation",
        source="TAAM (AAMAS 2026)",
        task_id="inferred",
    )
    params: Params
    readings = MappingProxyType(
        {"release": Reading(False, own_classes=True, scope="task_only"), "text": READINGS["text"]}
    )

    def draw(self, generator: torch.Generator) -> Weights:
        """Draw a low-rank modulator."""
        p = self.params
        return draw_low_rank(self.info.num_features, p.d_task, p.heads, p.rank, generator)

    def draw_rows(self, k: int) -> heads.Block:
        """Draw a head whose scale knows of its own classes only."""
        low, high = self.info.bounds[k]
        return heads.draw_rows(self.seed, k, 0, high - low)
