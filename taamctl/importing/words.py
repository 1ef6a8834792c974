"""Words and numbers as they stand in people's files."""

from __future__ import annotations

import numpy as np

from taamctl.core.types import Array

PART_WORDS = {
    "train": 0,
    "training": 0,
    "tr": 0,
    "val": 1,
    "valid": 1,
    "validation": 1,
    "dev": 1,
    "va": 1,
    "test": 2,
    "testing": 2,
    "te": 2,
}
MISSING = frozenset(
    {"", "nan", "na", "n/a", "none", "null", "-1", "-1.0", "<na>", "?"}
)  # what stands for no label, in lower case
# the same, and words that stand for no label alone
NO_LABEL = MISSING | {"unknown", "unlabelled", "unlabeled"}


def exact(text: str) -> float | int:
    """Return a number of any size: an integer where it is spelled so, for floats stop at 2**53; of
    thousands of digits, which Python does not take for an integer, the float that it is: infinity.
    """
    try:
        return int(text)
    except ValueError:
        return float(text)


def spelled(value: object) -> str:
    """Return a cell as text without blanks around it; empty for None."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return "" if value is None else without_b(str(value).strip())


def without_b(text: str) -> str:
    """Return the text in `b'n43'`, as Python spells bytes where they were printed as text."""
    if text[:2] in ("b'", 'b"') and len(text) > 3 and text[-1] == text[1] and "\\" not in text:
        return text[2:-1].strip()
    return text


def numbers_of(text: list[str]) -> Array | None:
    """Return text as numbers where all of it is, else None: `7` and `007` are one class only
    where every label is a number.
    """
    if any("_" in t for t in text):  # which Python would read as a number
        return None
    try:
        numbers = np.array([float(t) for t in text], np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def whole(value: object) -> object:
    """Return a float that is a whole number as an int; anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
