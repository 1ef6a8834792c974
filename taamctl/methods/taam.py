"""TAAM: a low-rank Neural Synapse Modulator per task over a frozen random SGC backbone."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.late_torch import torch
from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import PRECISIONS, READINGS, ModulatedMethod
from taamctl.models import sweep
from taamctl.models.backbones import HIDDEN
from taamctl.models.modulators import Weights, draw_low_rank


@dataclass(frozen=True)
class Params:
    """TAAM's own parameters."""

    profile: str = param(
        "release: reproduces the paper's tables; text: as the paper describes it; strict_gcil: "
        "unified trained head",
        choices=tuple(READINGS),
    )
    d_task: int = param("width of the task embedding, D_task", ge=1, le=4096)
    heads: int = param("modulations mixed per node, H", ge=1, le=64)
    rank: int = param(
        "rank of the modulation, r; unnamed in the text, 4 by the released code and by the "
        "parameter counts",
        ge=1,
        le=4096,
    )
    layer_norm: bool = param(
        "normalise a node's features before they are scaled; false for a study of its effect"
    )
    residual: bool = param("add h to what is scaled and shifted; false for a study of its effect")
    precision: str = param(
        "of the dense products in training: float32, or bfloat16, which is faster where the "
        "processor has it",
        choices=PRECISIONS,
    )


class Method(ModulatedMethod):
    """M = reshape(W_A e + b_A, heads, rank) W_B, near zero at the start, so that the modulator
    starts as the identity.

    Source: TAAM (AAMAS 2026), Eqs. 7-11.
    """

    facts = Facts(title="TAAM", family="modulation", source="TAAM (AAMAS 2026)", task_id="inferred")
    params: Params

    def draw(self, generator: torch.Generator) -> Weights:
        """Draw a low-rank modulator."""
        p = self.params
        return draw_low_rank(self.info.num_features, p.d_task, p.heads, p.rank, generator)

    def base(self, h: torch.Tensor, spread: sweep.Map) -> torch.Tensor:
        """Return W1 h, or zeros without the residual."""
        if not self.params.residual:
            return h.new_zeros(len(h), HIDDEN)
        return super().base(h, spread)

    @property
    def normalise(self) -> bool:
        """Tell whether LN(h) is scaled, and not h."""
        return self.params.layer_norm
