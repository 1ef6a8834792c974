"""The figure of a replay: accuracy over time, forgetting and cost, a line per method."""

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
SHARES = ("accuracy", "held_accuracy", "forgetting")  # in per cent; the fourth panel has seconds
PANELS = {
    "accuracy": ("before labels are shown", "accuracy %"),
    "held_accuracy": ("labels never shown", "accuracy %"),
    "forgetting": ("forgotten so far", "points lost"),
    "cpu_s": ("cost of a snapshot", "CPU s"),
}
COLUMNS = ("method", "snapshot", *PANELS)
ACROSS = 4  # names of the legend side by side
Lines = Mapping[str, Mapping[str, Array]]


def names(dataset: str) -> list[str]:
    """Return the file names of a data set's figure."""
    return [f"{KIND}-{dataset}.{suffix}" for suffix in ("csv", "png", "svg")]


def draw(dataset: str, runs: Sequence[Mapping[str, Plain]]) -> pictures.Picture:
    """Draw one data set.

    Args:
        runs: what is told of every replay, with `method` and `seed`.
    """
    seeds = ", ".join(map(str, sorted({run["seed"] for run in runs})))
    title = f"{dataset}: accuracy over time"
    caption = (
        f"{title}, per cent, class-balanced, protocol prequential, mean over seeds {seeds}. "
        "Before labels are shown: nodes that arrive, of classes known by then. Labels never shown: "
        "all such nodes so far, after the snapshot was learned. Forgotten so far: what was lost on "
        "those of earlier snapshots since each was learned, the mean over snapshots; below 0 where "
        "they are told better by now."
    )
    lines = {name: means(runs, name) for name in dict.fromkeys(run["method"] for run in runs)}
    with pictures.settings(f"{KIND}-{dataset}"):
        figure, axes = pictures.blank(6.4, 4.6, 2, 2)
        for axis, column in zip(axes.flat, PANELS, strict=True):
            _panel(axis, column, lines)
        handles, labels = axes[0][0].get_legend_handles_labels()
        beside = min(len(lines), ACROSS)
        figure.legend(
            handles, labels, fontsize=pictures.FONT, loc="outside lower center", ncols=beside
        )
        figure.suptitle(title, fontsize=pictures.FONT + 2)
        png, svg = pictures.both(figure)
    rows = [
        (name, t + 1, *(or_none(line[column][t]) for column in PANELS))
        for name, line in lines.items()
        for t in range(len(line["accuracy"]))
    ]
    table = csv_text(COLUMNS, rows)
    return pictures.Picture(KIND, dataset, title, caption, False, png, svg, table)


def means(runs: Sequence[Mapping[str, Plain]], method: str) -> dict[str, Array]:
    """Return panel -> [T] float64, the mean over a method's seeds; NaN where nothing was asked."""
    own = [run for run in runs if run["method"] == method]
    found = {
        column: np.array([[each[column] for each in run["snapshots"]] for run in own], np.float64)
        for column in PANELS
        if column != "forgetting"
    }
    found["forgetting"] = np.array([forgotten(run) for run in own])
    return {column: found[column].mean(axis=0) for column in PANELS}


def forgotten(run: Mapping[str, Plain]) -> list[float]:
    """Return, after every snapshot, what was lost on the held nodes of those before it since each
    was learned, the mean over these, as a fraction: [T], NaN where there are none. The last one is
    the run's forgetting.
    """
    matrix = np.array(run["held_matrix"], np.float64)  # None becomes NaN
    found = []
    for t in range(len(matrix)):
        lost = matrix.diagonal()[:t] - matrix[t, :t]
        known = lost[~np.isnan(lost)]
        found.append(float(known.sum() / len(known)) if len(known) else float("nan"))
    return found


def or_none(value: float) -> float | None:
    """Return a number; None for NaN."""
    return None if np.isnan(value) else float(value)


def _panel(axis: Axes, column: str, lines: Lines) -> None:
    factor = {True: 100, False: 1}[column in SHARES]
    for look, (name, line) in zip(looks(list(lines)), lines.items(), strict=True):
        values = line[column]
        axis.plot(
            np.arange(1, len(values) + 1),
            factor * values,
            look.line,
            color=look.colour,
            marker=look.marker,
            markersize=3,
            linewidth=1,
            label=name,
        )
    if column.endswith("accuracy"):
        every = np.concatenate([line[column] for line in lines.values()])
        figure_axes.near(axis.yaxis, every[~np.isnan(every)].tolist())
    title, label = PANELS[column]
    axis.set_title(title, fontsize=pictures.FONT)
    axis.set_ylabel(label)
    axis.set_xlabel("snapshot")
    count = max(len(line[column]) for line in lines.values())
    axis.set_xticks(range(1, count + 1, max(1, -(-count // 10))))
