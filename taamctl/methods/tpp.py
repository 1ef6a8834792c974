"""TPP: task profiles and graph prompts over a frozen backbone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from taamctl.core.spec import param
from taamctl.learning.contract.method import Facts
from taamctl.learning.families.prompted import PromptedMethod


@dataclass(frozen=True)
class Params:
    """TPP's own parameters."""

    prompts: int = param("tokens of a prompt, P; one is a single vector added to every node", ge=1)
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
    pretrain_epochs: int = param("passes of pre-training", ge=1)
    drop_edge: float = param("share of edges left out of the second view", ge=0, lt=1)
    drop_feature: float = param("share of feature columns zeroed in the second view", ge=0, lt=1)


class Method(PromptedMethod):
    """Per task a head over its own classes and, from the second task on, a prompt; plain
    cross-entropy; new Adam per task.

    Published with the Laplacian-smoothing profile and Euclidean distance (`infer.profile`,
    `infer.metric` `as_published`). Source: Niu et al. (2024).
    """

    facts: ClassVar[Facts] = Facts(
        title="TPP",
        family="prompt",
        source="Niu et al. (2024)",
        sees="current",
        task_id="inferred",
        needs=("x", "edges"),
        query_needs=("x", "edges"),
        routing=("ls", "euclid"),
    )
    params: Params
    first_prompted = 1
