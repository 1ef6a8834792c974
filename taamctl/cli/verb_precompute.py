"""`taamctl precompute`."""

from __future__ import annotations

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Datasets, Grid, MaxMemory, RawSettings, Writing


def command(
    *,
    datasets: Datasets = None,
    settings: RawSettings,
    max_memory: MaxMemory = None,
    writing: Writing,
) -> None:
    """Propagate features over every part's own edges: H = S^k X, hop means and profiles."""
    from taamctl.pipeline import walk

    context = make_context(Grid(datasets), settings, writing, max_memory=max_memory)
    walk.one_stage(context, "precompute")
