"""The picture that a report begins with: one dot per method and protocol, the best on top."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from taamctl.report import method_looks, pictures
from taamctl.report.figure_axes import near
from taamctl.report.figure_data import Evidence, Record, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "mixed": "mixed: nobody tells the task",
    "grouped": "grouped: a graph per task, {scope}",
}
WIDTH = 4.6  # inches: that of a phone
WIDEST = 34  # characters of a label on one line


def draw(table: Table, evidence: Evidence) -> Figure:
    """Draw a panel per protocol that there are values of, each with its own order."""
    by_protocol: dict[str, list[Record]] = {}
    for record in table.records():
        by_protocol.setdefault(str(record["protocol"]), []).append(record)
    panels = by_protocol or {"grouped": []}
    sizes = [max(1.0, 0.27 * len(records) + 0.7) for records in panels.values()]
    figure, axes = pictures.blank(WIDTH, sum(sizes) + 0.3, len(panels), heights=sizes)
    scopes = "/".join(sorted({row.scope for row in evidence.rows}))
    for axis, (protocol, records) in zip(axes[:, 0], panels.items(), strict=True):
        _panel(axis, records)
        axis.set_title(TITLES[protocol].format(scope=scopes), fontsize=pictures.FONT)
    return figure


def _panel(axis: Axes, records: list[Record]) -> None:
    for at, record in enumerate(records):
        look = method_looks.of(str(record["method"]))
        aa = 100 * record["aa"]
        low, high = (100 * _or(record[name], record["aa"]) for name in ("aa_low", "aa_high"))
        axis.errorbar(
            aa,
            at,
            xerr=[[max(0.0, aa - low)], [max(0.0, high - aa)]],
            color=look.colour,
            marker=look.marker,
            markersize=5,
            capsize=2,
            linewidth=1,
        )
        axis.annotate(
            f"{aa:.1f}",
            (aa, at),
            xytext=(0, 4.5),
            textcoords="offset points",
            ha="center",
            fontsize=pictures.FONT - 1,
        )
    names = [textwrap.shorten(str(r["label"]), WIDEST, placeholder="…") or " " for r in records]
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.4, -0.8)
    axis.grid(visible=False, axis="y")
    ends = [v for r in records for v in (r["aa"], r["aa_low"], r["aa_high"]) if v is not None]
    near(axis.xaxis, ends)
    axis.set_xlabel("AA, %")


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
