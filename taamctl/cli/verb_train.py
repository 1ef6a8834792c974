"""`taamctl train`."""

from __future__ import annotations

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(grid: Grid, settings: Settings, writing: Writing) -> None:
    """Train each method over the task stream; an interrupted run goes on where it stopped."""
    from taamctl.pipeline import walk

    walk.one_stage(make_context(grid, settings, writing, check_methods=True), "train")
