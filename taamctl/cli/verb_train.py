"""`taamctl train`."""

from __future__ import annotations

from taamctl.cli.common import stage_command

command = stage_command(
    "train",
    "Train each method over the task stream; an interrupted run goes on where it stopped.",
    check_methods=True,
)
