"""TAAM without task awareness: predictions never use a task ID. An ablation."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from taamctl.core.late_torch import torch
from taamctl.core.spec import param
from taamctl.core.types import QueryGraph
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.modulated import ModulatedMethod, Reading
from taamctl.models.modulators import Weights, draw_low_rank


@dataclass(frozen=True)
class Params:
    """Its own parameters."""

    modulator: str = param(
        "shared: one modulator, created with the first task and trained further on every task; "
        "last: one per task, the newest is always used. The paper does not say which",
        choices=("shared", "last"),
    )
    d_task: int = param("as for taam", ge=1, le=4096)
    heads: int = param("as for taam", ge=1, le=64)
    rank: int = param("as for taam", ge=1, le=4096)


class Method(ModulatedMethod):
    """One modulator for all tasks over the frozen backbone and the frozen head; predictions over
    all classes seen.

    Source: TAAM (AAMAS 2026), ablation "w/o Task-Aware", which the paper leaves undefined.
    """

    facts = Facts(title="TAAM w/o task-aware", family="ablation", source="TAAM (AAMAS 2026)")
    params: Params
    readings = MappingProxyType(
        dict.fromkeys(("shared", "last"), Reading(False, False, scope="all_seen"))
    )
    cumulative = False  # the newest modulator is used for all tasks

    @property
    def variant(self) -> str:
        """Return which modulator is used."""
        return self.params.modulator

    @property
    def independent(self) -> bool:
        """Tell whether tasks are independent: a shared modulator goes on from the task before."""
        return self.params.modulator == "last"

    def draw(self, generator: torch.Generator) -> Weights:
        """Draw a low-rank modulator."""
        p = self.params
        return draw_low_rank(self.info.num_features, p.d_task, p.heads, p.rank, generator)

    def start(self, k: int) -> Weights:
        """Return the modulator that task `k` starts from."""
        if self.params.modulator == "shared" and k:
            return {n: w.clone() for n, w in self.modulators[-1].items()}
        return super().start(k)

    def logits(self, query: QueryGraph, task_id: int) -> torch.Tensor:
        """Return the logits of all classes seen under the newest modulator."""
        return super().logits(query, len(self.modulators) - 1)

    def kept_modulators(self) -> int:
        """Return how many modulators are kept."""
        return 1 if self.params.modulator == "shared" else self.info.num_tasks
