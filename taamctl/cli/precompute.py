"""`taamctl precompute`."""

from __future__ import annotations

from taamctl.cli.common import stage_command

command = stage_command("precompute", "Propagate features over every part's own edges: H = S^2 X, hop means and profiles.", per_run=False)
