"""`taamctl infer`."""

from __future__ import annotations

from taamctl.cli.common import stage_command

command = stage_command(
    "infer",
    "Infer task IDs from prototypes and predict the val and test parts.",
    check_methods=True,
)
