"""Spans of time as people write them."""

from __future__ import annotations

import re

from taamctl.core.errors import TaamctlError

SECONDS = {"": 1, "h": 3600, "d": 86_400, "w": 604_800}  # dates are kept as seconds


def span(text: str | None) -> float | None:
    """Return a span in the unit of a graph's times, of `7d` and the like in seconds; None where
    none is given.
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d*\.?\d+(?:e[+-]?\d+)?)\s*([hdw]?)\s*", text)
    if found is None:
        raise TaamctlError(
            f"--every {text[:60]}: no span of time",
            "write a number above 0, in the unit of the graph's times; of dates 12h, 7d or 2w",
        )
    return float(found[1]) * SECONDS[found[2]]
