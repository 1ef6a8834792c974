"""TAAM without modulators: the frozen backbone and the head alone.

An ablation, and with a trained head a control.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from taamctl.core.late_torch import torch
from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import READINGS, ModulatedMethod
from taamctl.models.modulators import Weights


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

    facts = Facts(
        title="TAAM w/o NSMs", family="ablation", source="TAAM (AAMAS 2026)", task_id="inferred"
    )
    params: Params
    readings = MappingProxyType({"frozen": READINGS["release"], "trained": READINGS["text"]})

    @property
    def variant(self) -> str:
        """Return what is trained."""
        return f"{self.params.head} head"

    @property
    def reading(self) -> str:
        """Return the key of `readings`."""
        return self.params.head

    def draw(self, generator: torch.Generator) -> Weights:
        """Draw nothing."""
        return {}

    def terms(self, weights: Weights) -> None:
        """Return nothing: h stays as it is."""
