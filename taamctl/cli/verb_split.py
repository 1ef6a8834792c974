"""`taamctl split`."""

from __future__ import annotations

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Datasets, Grid, RawSettings, Writing


def command(*, datasets: Datasets = None, settings: RawSettings, writing: Writing) -> None:
    """Form tasks, split every class into train, val and test, and keep only the edges inside
    each part.
    """
    from taamctl.pipeline import walk

    walk.one_stage(make_context(Grid(datasets), settings, writing), "split")
