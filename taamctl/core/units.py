"""Sizes and times as people write and read them."""

from __future__ import annotations

from taamctl.core.errors import TaamctlError

MIB = 1 << 20
POWERS = {"K": 10, "M": 20, "G": 30, "T": 40}
LARGER = ("GiB", "TiB", "PiB")
PERIODS = (("days", 86_400.0), ("h", 3600.0), ("min", 60.0))


def parse_bytes(option: str, text: str) -> int:
    """Return the bytes of `512M`, `2G` or `2GiB`, or a plain number.

    Raises:
        TaamctlError: no number above 0; it names the option.
    """
    text = text.removesuffix("iB")
    power = POWERS.get(text[-1:].upper(), 0)
    try:
        size = int(float(text[:-1] if power else text) * 2**power)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise TaamctlError(f"{option} {text}: no size", f"such as {option} 512M, or 2G")
    return size


def format_bytes(count: float) -> str:
    """Return bytes in the unit that shows them, such as `3.2 GiB`."""
    if 0 < count < MIB:
        return f"{max(1, count / 1024):,.0f} KiB"
    value, unit = count / MIB, "MiB"
    for larger in LARGER:
        if value < 1000:
            break
        value, unit = value / 1024, larger
    decimals = 0 if value >= 10 or unit == "MiB" else 1
    return f"{value:,.{decimals}f} {unit}"


def format_seconds(seconds: float) -> str:
    """Return a time in round figures: `under 1 s`, `about 40 s`, `about 2.5 h`, `about 12 days`."""
    if seconds < 1:
        return "under 1 s"
    for unit, length in PERIODS:
        value = seconds / length
        if value >= 2 or (unit != "days" and value >= 1.5):
            return f"about {_two_digits(value)} {unit}"
    if seconds >= 20:
        seconds = round(seconds, -1)
    return f"about {_two_digits(seconds)} s"


def _two_digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
