"""Finetuning ("bare"): keep training one net on the current task alone. The lower reference."""

from __future__ import annotations

from taamctl.learning.contract.method import Facts
from taamctl.learning.families.sequential import SequentialMethod

Params = None


class Method(SequentialMethod):
    """Class-balanced cross-entropy over all classes seen, on the current task's nodes; one Adam for
    the whole stream.

    Source: the "bare" baseline of the CGLB benchmark (2022).
    """

    facts = Facts(title="Finetuning", family="lower reference", source="CGLB (2022)")
