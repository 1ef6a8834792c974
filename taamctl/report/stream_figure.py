"""The figure of a replay: accuracy over time, a line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.report import figure_axes, pictures
from taamctl.report.method_looks import looks
from taamctl.report.report_tables import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "stream"
PANELS = {
    "accuracy": "before labels are shown",
    "held_accuracy": "nodes whose labels are never shown",
}
COLUMNS = ("method", "snapshot", *PANELS)


def draw(dataset: str, runs: Sequence[Mapping[str, Plain]]) -> pictures.Picture:
    """Draw one data set.

    Args:
        runs: what is told of every replay, with `method` and `seed`.
    """
    seeds = sorted({run["seed"] for run in runs})
    title = f"{dataset}: accuracy over time"
    caption = (
        f"{title}, per cent, class-balanced, prequential, mean of {len(seeds)} seed(s). Left: "
        "nodes that arrive, of classes known by then, before their labels are shown. Right: all "
        "nodes so far whose labels are never shown, after the snapshot was learned."
    )
    lines = {name: means(runs, name) for name in dict.fromkeys(run["method"] for run in runs)}
    with pictures.settings(f"{KIND}-{dataset}"):
        figure, axes = pictures.blank(7.6, 2.8, 1, 2, share=True)
        for axis, (column, title_of) in zip(axes[0], PANELS.items(), strict=True):
            _panel(axis, {name: line[column] for name, line in lines.items()})
            axis.set_title(title_of, fontsize=pictures.FONT)
        every = np.concatenate([x for line in lines.values() for x in line.values()])
        figure_axes.near(axes[0][0].yaxis, every[~np.isnan(every)].tolist())
        axes[0][0].set_ylabel("accuracy %")
        handles, names = axes[0][1].get_legend_handles_labels()
        figure.legend(handles, names, fontsize=pictures.FONT - 1, loc="outside right center")
        figure.suptitle(title, fontsize=pictures.FONT + 2)
        png, svg = pictures.both(figure)
    rows = [
        (name, t + 1, *(_or_none(line[column][t]) for column in PANELS))
        for name, line in lines.items()
        for t in range(len(line["accuracy"]))
    ]
    table = csv_text(COLUMNS, rows)
    return pictures.Picture(KIND, dataset, title, caption, False, png, svg, table)


def means(runs: Sequence[Mapping[str, Plain]], method: str) -> dict[str, Array]:
    """Return panel -> [T] float64, the mean over a method's seeds; NaN where nothing was asked."""
    own = [run["snapshots"] for run in runs if run["method"] == method]
    found = {}
    for column in PANELS:
        values = np.array([[snapshot[column] for snapshot in each] for each in own], np.float64)
        found[column] = values.mean(axis=0)
    return found


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _panel(axis: Axes, lines: Mapping[str, Array]) -> None:
    for look, (name, values) in zip(looks(list(lines)), lines.items(), strict=True):
        axis.plot(
            np.arange(1, len(values) + 1),
            100 * values,
            look.line,
            color=look.colour,
            marker=look.marker,
            markersize=3,
            linewidth=1,
            label=name,
        )
    axis.set_xlabel("snapshot")
    count = max(map(len, lines.values()))
    axis.set_xticks(range(1, count + 1, max(1, -(-count // 10))))
