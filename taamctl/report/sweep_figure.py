"""The sensitivity figures of `taamctl reproduce sweeps`: AA of TAAM against one parameter, a line
per data set.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taamctl.report import pictures
from taamctl.report.method_looks import COLOURS, LINES, MARKERS
from taamctl.report.report_tables import Record, csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KNOBS = {
    "rank": "methods.taam.rank",
    "heads": "methods.taam.heads",
    "width": "methods.taam.d_task",
    "hops": "infer.hops",
    "alpha": "infer.alpha",
}
COLUMNS = ("dataset", "parameter", "value", "aa", "aa_std", "seeds")


@dataclass(frozen=True)
class Point:
    """AA in per cent under one value of a parameter; `std` over `seeds`."""

    value: str
    order: tuple[float, ...]
    aa: float
    std: float
    seeds: int


def files(records: Sequence[Record], usual: Mapping[str, object]) -> dict[str, bytes]:
    """Return file name -> bytes of every figure: PNG, SVG and its numbers as CSV.

    Args:
        records: of the table `sweeps`; the rows without a changed parameter stand for the usual
            value of all.
        usual: parameter -> the value that it has where nothing is changed.
    """
    out: dict[str, bytes] = {}
    for knob, parameter in KNOBS.items():
        lines = points(records, parameter, usual[parameter])
        if any(len(line) > 1 for line in lines.values()):
            out |= draw(knob, parameter, lines).files()
    return out


def points(records: Sequence[Record], parameter: str, usual: object) -> dict[str, list[Point]]:
    """Return the points of every data set, in the order of the parameter's values."""
    lines: dict[str, list[Point]] = {}
    for record in records:
        value = _value(record["set"], parameter, usual)
        if value is None or record["ours"] is None:
            continue
        text, order = _shown(value)
        point = Point(text, order, record["ours"], record["ours_std"], len(record["seeds"]))
        lines.setdefault(record["dataset"], []).append(point)
    return {name: sorted(line, key=lambda p: p.order) for name, line in lines.items()}


def _value(changed: Sequence[str], parameter: str, usual: object) -> object:
    """Return a row's value of a parameter; None where the row changes another one."""
    if not changed:
        return usual
    name, _, text = changed[0].partition("=")
    if name != parameter or len(changed) > 1:
        return None
    return ast.literal_eval(text)


def _shown(value: object) -> tuple[str, tuple[float, ...]]:
    """Return a value as text, and what it is sorted by; of hops the levels alone."""
    if isinstance(value, Mapping):
        levels = sorted(int(level) for level in value)
        return ", ".join(map(str, levels)), (max(levels), len(levels))
    return f"{value:g}", (float(str(value)),)


def draw(knob: str, parameter: str, lines: Mapping[str, Sequence[Point]]) -> pictures.Picture:
    """Draw one figure: values side by side, the deviation over seeds as a bar."""
    title = f"TAAM: AA against {knob}"
    caption = (
        f"{title} ({parameter}), per cent, class-balanced, test part, up to the inferred task; "
        "bars: population standard deviation over seeds."
    )
    with pictures.settings(f"sweeps-{knob}"):
        figure, axes = pictures.blank(4.6, 3.0)
        _lines(axes[0][0], lines)
        axes[0][0].set_xlabel(f"{knob} ({parameter})")
        axes[0][0].set_ylabel("AA %")
        figure.suptitle(title, fontsize=pictures.FONT + 2)
        png, svg = pictures.both(figure)
    rows = [
        (d, parameter, p.value, p.aa, p.std, p.seeds) for d, line in lines.items() for p in line
    ]
    table = csv_text(COLUMNS, rows)
    return pictures.Picture("sweeps", knob, title, caption, False, png, svg, table)


def _lines(axis: Axes, lines: Mapping[str, Sequence[Point]]) -> None:
    """Draw a line per data set; values that a data set lacks are left out of its line."""
    known = {p.value: p.order for line in lines.values() for p in line}
    values = sorted(known, key=lambda value: known[value])
    for i, (dataset, line) in enumerate(lines.items()):
        axis.errorbar(
            [values.index(p.value) for p in line],
            [p.aa for p in line],
            yerr=[p.std for p in line],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle=LINES[i % len(LINES)],
            markersize=4,
            capsize=2,
            label=dataset,
        )
    axis.set_xticks(range(len(values)), labels=values)
    axis.legend(fontsize=pictures.FONT - 1, loc="center left", bbox_to_anchor=(1.0, 0.5))
