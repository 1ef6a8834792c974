"""The `report` section."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param


@dataclass(frozen=True)
class ReportParams:
    """How a report is rendered; no number depends on it."""

    decimals: int = param("decimals of the per cent in rendered tables", ge=0, le=6)
    pictures: bool = param(
        "draw the figures (PNG, SVG, and their numbers as CSV); without them the HTML page holds "
        "tables alone"
    )
