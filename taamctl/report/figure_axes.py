"""Axes of figures: per cent, task numbers, logarithmic steps that read without an exponent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.types import Array
from taamctl.report.figure_data import Record, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis


STEPS = (0.5, 1, 2, 5, 10, 20, 50)  # between ticks, in per cent


def percent(records: Sequence[Record], column: str) -> Array:
    """Return a column in per cent, NaN where there is no value."""
    return np.array([np.nan if r[column] is None else 100 * r[column] for r in records])


def accuracy(axis: XAxis | YAxis, table: Table, columns: Sequence[str], label: str) -> None:
    """Scale an axis in per cent, from where the data begin."""
    values = [
        r[c] + sign * (r[f"{c}_std"] or 0.0)
        for r in table.records()
        for c in columns
        for sign in (-1, 1)
        if r[c] is not None
    ]
    near(axis, values)
    axis.set_label_text(label)


def near(axis: XAxis | YAxis, values: Sequence[float]) -> None:
    """Scale an axis in per cent around some fractions: from a round number a little below the
    lowest to a little above the highest, never past 0 and 100.
    """
    low, high = 100 * min(values, default=0.0), 100 * max(values, default=1.0)
    room = max(0.08 * (high - low), 0.5)
    low, high = max(0.0, low - room), min(100.0, high + room)
    step = next(size for size in STEPS if high - low <= 7 * size)
    first, last = step * math.floor(low / step), min(100, step * math.ceil(high / step))
    edge = 0.03 * (last - first)
    getattr(axis.axes, f"set_{axis.axis_name}lim")(first - edge, last + edge)
    axis.set_ticks([first + step * i for i in range(round((last - first) / step) + 1)])


def tasks(axis: Axes, tasks: int) -> None:
    """Number the tasks along an axis."""
    axis.set_xticks(range(1, tasks + 1, max(1, -(-tasks // 10))))
    axis.set_xlim(0.8, tasks + 0.2)
    axis.set_xlabel("after task")


def stretch(axis: XAxis | YAxis, values: Sequence[float]) -> None:
    """Give an axis logarithmic steps, with room for zero where there is one, and numbers that
    read without an exponent.
    """
    positive = [v for v in values if v > 0]
    if not positive:
        return
    low = math.floor(math.log10(min(positive)))
    high = math.ceil(math.log10(max(positive) * 1.05))
    set_scale = getattr(axis.axes, f"set_{axis.axis_name}scale")
    set_limits = getattr(axis.axes, f"set_{axis.axis_name}lim")
    ticks = _steps(low, high)
    if min(values) <= 0:
        set_scale("symlog", linthresh=10.0**low, linscale=0.5)
        set_limits(-0.15 * 10.0**low, 10.0**high * 1.25)
        ticks = [0.0, *ticks]
    else:
        set_scale("log")
        set_limits(10.0**low / 1.25, 10.0**high * 1.25)
    axis.set_ticks(ticks, [_short(tick) for tick in ticks])
    axis.set_ticks([], minor=True)


def _steps(low: int, high: int) -> list[float]:
    """Return at most about eight round numbers from 10^low to 10^high."""
    steps = (1, 2, 5) if high - low <= 2 else (1,)
    ticks = [s * 10.0**e for e in range(low, high + 1) for s in steps if s * 10.0**e <= 10.0**high]
    return ticks[::2] if len(ticks) > 8 else ticks


def _short(value: float) -> str:
    """Return 1500 as `1.5k`, 2e6 as `2M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
