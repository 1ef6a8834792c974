"""`taamctl infer`."""

from __future__ import annotations

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing


def command(grid: Grid, settings: Settings, writing: Writing) -> None:
    """Infer task IDs and predict the val and test parts; warn where validation says that task IDs
    are not safe.
    """
    from taamctl.pipeline import routing_account, walk

    context = make_context(grid, settings, writing, check_methods=True)
    walk.one_stage(context, "infer")
    routing_account.tell(context)
