"""GPF: graph prompt features with TAAM's task-ID inference. Isolates "prompt against modulator"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.prompted import PromptedMethod


@dataclass(frozen=True)
class Params:
    """GPF's own parameters."""

    prompts: int = param("tokens of a prompt, P; 1 is GPF, more is GPF-plus", ge=1)
    position: str = param(
        "pre: the prompt is added to X, before propagation; post: to H, without any edge",
        choices=("pre", "post"),
    )
    pretrain: str = param("none: random backbone; grace: as for tpp", choices=("grace", "none"))
    pretrain_epochs: int = param("passes of pre-training", ge=1)
    drop_edge: float = param("share of edges left out of the second view", ge=0, lt=1)
    drop_feature: float = param("share of feature columns zeroed in the second view", ge=0, lt=1)


class Method(PromptedMethod):
    """Per task a prompt and a head over its own classes; class-balanced cross-entropy; AMP with
    cosine chooses the task.

    Source: Fang et al. (2023) for the prompt; the composition is ours, as a control.
    """

    facts: ClassVar[Facts] = Facts(
        title="GPF",
        family="prompt",
        source="Fang et al. (2023)",
        sees="current",
        task_id="inferred",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
    )
    params: Params
    balanced = True
