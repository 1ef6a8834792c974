"""What validation says of task IDs, as people are told of it."""

from __future__ import annotations

from taamctl.evaluation.routing import Evidence


class ToldEvidence(Evidence):
    """The same evidence, whose sentences count tasks from 1."""

    @property
    def weakest(self) -> tuple[int, float] | None:
        """The task with the smallest share of halves, from 1, and the share."""
        found = super().weakest
        return found and (found[0] + 1, found[1])
