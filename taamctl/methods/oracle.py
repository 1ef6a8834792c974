"""Oracle: joint training, with the true task known at test.

An upper reference, but not a bound for modulated backbones.
"""

from __future__ import annotations

from taamctl.learning.contract.method import Facts
from taamctl.learning.families.jointly import JointMethod, JointParams

Params = JointParams


class Method(JointMethod):
    """Every node's cross-entropy, and every prediction, ranges over its own task's classes.

    Source: the "Oracle" row of TAAM (AAMAS 2026); its own table has TAAM above it on ogbn-arxiv.
    """

    facts = Facts(
        title="Oracle",
        family="upper reference",
        source="TAAM (AAMAS 2026)",
        sees="all",
        task_id="given",
    )
    own_range = True
    scope = "task_only"
