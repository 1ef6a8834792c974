"""GPF: graph prompt features with TAAM's task-ID inference. Isolates "prompt against modulator"."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.prompted import PromptedMethod, PromptParams


@dataclass(frozen=True)
class Params(PromptParams):
    """GPF's own parameters."""

    prompts: int = param("tokens of a prompt, P; 1 is GPF, more is GPF-plus", ge=1)


class Method(PromptedMethod):
    """Per task a prompt and a head over its own classes; class-balanced cross-entropy; AMP with
    cosine chooses the task.

    Source: Fang et al. (2023) for the prompt; the composition is ours, as a control.
    """

    facts = Facts(
        title="GPF",
        family="prompt",
        source="Fang et al. (2023)",
        task_id="inferred",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
    )
    params: Params
    balanced = True
