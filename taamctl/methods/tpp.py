"""TPP: task profiles and graph prompts over a frozen backbone."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.prompted import PromptedMethod, PromptParams


@dataclass(frozen=True)
class Params(PromptParams):
    """TPP's own parameters."""

    position: str = param(
        "pre: the prompt is added to X, before propagation; post: to H, without any edge (a "
        "deviation)",
        choices=("pre", "post"),
    )
    pretrain: str = param(
        "grace: contrastive pre-training on the first task's training graph, as published; none: a "
        "random backbone, as in the released comparison, where the call is commented out",
        choices=("grace", "none"),
    )


class Method(PromptedMethod):
    """Per task a head over its own classes and, from the second task on, a prompt; plain
    cross-entropy; new Adam per task.

    Published with the Laplacian-smoothing profile and Euclidean distance (`infer.profile`,
    `infer.metric` `as_published`). Source: Niu et al. (2024).
    """

    facts = Facts(
        title="TPP",
        family="prompt",
        source="Niu et al. (2024)",
        task_id="inferred",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
        routing=("ls", "euclid"),
    )
    params: Params
    first_prompted = 1
