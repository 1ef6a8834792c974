"""`taamctl keys`."""

from __future__ import annotations

import typer

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, RawSettings, Writing


def command(*, grid: Grid, settings: RawSettings) -> None:
    """Write what every stage depends on beside parameters (code, libraries, raw data) to .keys.json
    in the outputs folder. dvc.yaml asks for it; `taamctl status` says the same for people.
    """
    from taamctl.pipeline import stage_keys

    typer.echo(str(stage_keys.write(make_context(grid, settings, Writing(quiet=True)))))
