"""`taamctl infer`."""

from __future__ import annotations

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(grid: Grid, settings: Settings, writing: Writing) -> None:
    """Infer task IDs from prototypes and predict the val and test parts."""
    from taamctl.pipeline import walk

    walk.one_stage(make_context(grid, settings, writing, check_methods=True), "infer")
