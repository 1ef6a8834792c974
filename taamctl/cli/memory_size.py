"""Sizes of memory as people write them."""

from __future__ import annotations


def size(text: str | None) -> int | None:
    """Return bytes of `512M`, `2G`, or a plain number; None where none is given."""
    if text is None:
        return None
    from taamctl.core.units import parse_bytes

    return parse_bytes("--max-memory", text)
