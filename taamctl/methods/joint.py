"""Joint: train on all tasks' data together, without task IDs.

The upper reference of class-incremental learning.
"""

from __future__ import annotations

from taamctl.learning.contract.method import Facts
from taamctl.learning.families.jointly import JointMethod, JointParams

Params = JointParams


class Method(JointMethod):
    """Every node's cross-entropy ranges over all classes seen.

    Source: the "joint" reference of the CGLB benchmark (2022).
    """

    facts = Facts(title="Joint", family="upper reference", source="CGLB (2022)", sees="all")
