"""Cells of a column as numbers, truths or times; what is none is named by column and row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.messages import quoted, shown
from taamctl.importing.words import MISSING

EMPTY = MISSING - {"-1", "-1.0"}  # what stands for no number: -1 is one, and no label


def numbers(column: Array, where: str, name: str) -> Array:
    """Return a column of cells as numbers, NaN for empty ones.

    Raises:
        TaamctlError: a cell that is no number.
    """
    if column.dtype.kind in "iufb":
        return column
    out = np.full(column.shape, np.nan, np.float64)
    wrong: list[tuple[int, str]] = []
    for at, value in np.ndenumerate(column):
        text = "" if value is None else str(value).strip()
        if text.lower() in EMPTY:
            continue
        try:
            if "_" in text:  # which Python would read as a number
                raise ValueError(text)
            out[at] = float({"true": "1", "false": "0"}.get(text.lower(), text))
        except ValueError:
            wrong.append((at[0], text))
    if wrong:
        raise _no_numbers(wrong, where, name)
    return out


def _no_numbers(wrong: Sequence[tuple[int, str]], where: str, name: str) -> BadRows:
    """Return the refusal of cells that are no numbers: the first, and how many there are."""
    row, text = wrong[0]
    more = f", nor {len(wrong) - 1:,} more of its cells" if len(wrong) > 1 else ""
    return BadRows(
        f"{where}: column {name!r} holds {shown(text)!r} at row {row}, which is no number{more}",
        f"{decimal_hint(text)}leave it out with --ignore {quoted(name)}, choose with --features, "
        f"or say what it is: --label {quoted(name)}",
        [row for row, _ in wrong],
    )


def decimal_hint(text: str) -> str:
    """Return what to try first where a cell looks like a number with a comma; else nothing."""
    if re.fullmatch(r"[+-]?[0-9]*,[0-9]+", text):
        return "--decimal , where a comma stands before the decimals; else "
    return ""


def truths(column: Array, where: str, name: str) -> Array:
    """Return a column of a mask as booleans; empty cells are false.

    Raises:
        TaamctlError: a cell that is neither true nor false.
    """
    words = {
        "true": True,
        "1": True,
        "1.0": True,
        "false": False,
        "0": False,
        "0.0": False,
        "": False,
        "nan": False,
        "none": False,
    }
    text = [str(v).strip().lower() for v in column.tolist()]
    wrong = next((row for row, t in enumerate(text) if t not in words), None)
    if wrong is not None:
        raise TaamctlError(
            f"{where}: the mask {name!r} holds {shown(text[wrong])!r} at row {wrong}",
            "a mask holds true and false, or 1 and 0",
        )
    return np.array([words[t] for t in text], bool)


def times(column: Array, where: str, name: str) -> tuple[Array, tuple[str, ...]]:
    """Return times as [N] float64, NaN where there is none, and a note where they were dates:
    seconds since 1970.

    Raises:
        TaamctlError: a cell that is neither a number nor an ISO date.
    """
    import pandas as pd

    if column.dtype.kind in "iuf":
        return column.astype(np.float64), ()
    if column.dtype.kind == "M":
        dates = pd.to_datetime(pd.Series(column), utc=True)
        return _seconds(dates), (f"{where}: dates of {name!r} taken as seconds since 1970, UTC",)
    text = [None if str(v).strip().lower() in EMPTY else str(v).strip() for v in column.tolist()]
    try:
        return np.array([np.nan if t is None else float(t) for t in text], np.float64), ()
    except ValueError:
        dates = pd.to_datetime(
            pd.Series(text, dtype=object), format="ISO8601", utc=True, errors="coerce"
        )
    wrong = next(
        (
            row
            for row, (t, bad) in enumerate(zip(text, dates.isna(), strict=True))
            if t is not None and bad
        ),
        None,
    )
    if wrong is not None:
        raise TaamctlError(
            f"{where}: the time {shown(text[wrong])!r} at row {wrong} is neither a number nor a "
            "date such as 2026-01-31",
            f"mend it, leave it empty, or --ignore {quoted(name)}",
        )
    return _seconds(dates), (f"{where}: dates of {name!r} taken as seconds since 1970, UTC",)


def _seconds(dates: Any) -> Array:
    """Return seconds since 1970 of a column of dates, in whatever unit it counts: years that do not
    fit into nanoseconds occur.
    """
    counted = dates.dt.tz_localize(None).to_numpy()
    unit, _ = np.datetime_data(counted.dtype)
    a_second = np.timedelta64(1, "s").astype(f"timedelta64[{unit}]").astype(np.int64)
    seconds = counted.astype(np.int64) / a_second
    return np.where(np.isnat(counted), np.nan, seconds)
