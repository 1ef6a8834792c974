"""What `taamctl clean` may remove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from typer import Option


@dataclass(frozen=True)
class Wishes:
    """What may go."""

    yes: Annotated[
        bool, Option("--yes", help="Remove what is shown; without it nothing is removed unasked.")
    ] = False
    other_settings: Annotated[
        bool,
        Option("--other-settings", help="Also what other parameters than those here made."),
    ] = False
    unfinished: Annotated[
        bool,
        Option("--unfinished", help="Also finished tasks of trainings that were stopped."),
    ] = False
    unknown: Annotated[
        bool,
        Option(
            "--unknown",
            help="Also of data sets and methods that this folder does not know.",
        ),
    ] = False
