"""TAAM-L: TAAM without the low-rank factorisation ("w/o LoRA")."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import torch
from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import PRECISIONS, READINGS, ModulatedMethod
from taamctl.models.modulators import Weights, draw_full


@dataclass(frozen=True)
class Params:
    """TAAM-L's own parameters."""

    profile: str = param("as for taam", choices=tuple(READINGS))
    d_task: int = param("width of the task embedding, D_task", ge=1, le=4096)
    heads: int = param("modulations mixed per node, H", ge=1, le=64)
    precision: str = param("as for taam", choices=PRECISIONS)


class Method(ModulatedMethod):
    """M = reshape(W e + b, heads, 2F), of order 1 from the start.

    Source: TAAM (AAMAS 2026), ablation "TAAM-L"; its table has it better on average than the
    factorised form.
    """

    facts = Facts(
        title="TAAM-L", family="modulation", source="TAAM (AAMAS 2026)", task_id="inferred"
    )
    params: Params

    def draw(self, generator: torch.Generator) -> Weights:
        """Draw a full modulator."""
        p = self.params
        return draw_full(self.info.num_features, p.d_task, p.heads, generator)
