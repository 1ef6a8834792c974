"""Sizes of memory as people write them."""

from __future__ import annotations

UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def size(text: str) -> int:
    """Return bytes of `512M`, `2G`, or a plain number."""
    from taamctl.core.errors import TaamctlError

    number, unit = (text[:-1], UNITS[text[-1].upper()]) if text[-1:].upper() in UNITS else (text, 0)
    try:
        made = int(float(number) * 2**unit)
    except (ValueError, OverflowError):
        made = 0
    if made <= 0:
        raise TaamctlError(f"--max-memory {text}: no size", "such as --max-memory 512M, or 2G")
    return made
