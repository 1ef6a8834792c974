"""The `eval` section."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param


@dataclass(frozen=True)
class EvalParams:
    """What the headline number averages over."""

    averaging: str = param(
        "balanced: mean recall of a task's classes; micro: share of a task's nodes that are right; "
        "both are always stored",
        choices=("balanced", "micro"),
    )
