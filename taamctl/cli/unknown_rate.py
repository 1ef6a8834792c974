"""The value of `--unknown`: a rate, or `off`."""

from __future__ import annotations

from taamctl.core.errors import TaamctlError


def unknown_rate(text: str) -> float:
    """Return the rate of `--unknown`."""
    if text == "off":
        return 0.0
    try:
        return float(text)
    except ValueError:
        raise TaamctlError(
            f"--unknown {text}: neither off nor a number",
            "such as --unknown 0.05, or --unknown off",
        ) from None
