"""Sizes of memory as people write them."""

from __future__ import annotations


def size(text: str) -> int:
    """Return bytes of `512M`, `2G`, or a plain number."""
    from taamctl.core.units import parse_bytes

    return parse_bytes("--max-memory", text)
