"""`taamctl eval`."""

from __future__ import annotations

from taamctl.cli.common import stage_command

command = stage_command("eval", "Evaluate: accuracy matrices for all logit scopes, AA, BWT, AF, task-ID accuracy, cost.", per_run=True)
