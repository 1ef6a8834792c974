"""The loss figure of one data set: training loss against the epoch, a panel per task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.evaluation import loss_curves
from taamctl.evaluation.loss_curves import Curves
from taamctl.report import figure_data, pictures
from taamctl.report.method_looks import Look, looks
from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_tables import csv_text
from taamctl.runtime import provenance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KIND = "loss"
NAME = "loss.csv"
PANELS = 8  # tasks shown: the first, the last, and between them evenly
POINTS = 60  # shown of a curve: what the eye can tell apart in a panel
ACROSS = 4
TITLE = "training loss"
COLUMNS = ("row", "seed", "task", "epoch", "loss")
Line = tuple[str, int, int, int, float]


def names(dataset: str) -> list[str]:
    """Return the file names of a data set's figure."""
    return [f"{KIND}-{dataset}.{suffix}" for suffix in ("csv", "png", "svg")]


def files(evaluations: Sequence[Path]) -> list[Path]:
    """Return the loss tables beside evaluations, those alone that hold a line."""
    found = [path.with_name(NAME) for path in evaluations]
    return [
        path for path in found if path.is_file() and "\n1," in path.read_text(encoding="utf-8")[:99]
    ]


def read(paths: Sequence[Path], evaluations: Sequence[Path]) -> dict[str, Curves]:
    """Return the curves by the sha256 of the evaluation that a table lies beside.

    Raises:
        TaamctlError: one is no such table.
    """
    found = {}
    for path in evaluations:
        table = path.with_name(NAME)
        if table not in paths:
            continue
        try:
            curves = loss_curves.read(table.read_text(encoding="utf-8"))
        except (KeyError, TypeError, ValueError):
            raise TaamctlError(
                f"{table} is no table of losses", "make it again with: taamctl eval --force"
            ) from None
        found[provenance.sha256(path)] = curves
    return found


def draw(rows: Sequence[SeedsRow], curves: Mapping[str, Curves]) -> pictures.Picture:
    """Draw one data set.

    Args:
        rows: over seeds, of one data set. curves: by the sha256 of a run's evaluation.
    """
    labels = figure_data.labels(rows)
    tasks = max(len(row.matrix) for row in rows)
    dataset = rows[0].dataset
    panels = _spread(tasks, PANELS)
    caption = (
        f"{dataset}: training loss against the epoch (of the first seed of each row), task by "
        f"task{_left_out(panels, tasks)}. Each method minimises a loss of its own: look at the "
        "shape of a curve, not at which lies lowest. A method in closed form has no curve."
    )
    lines = [
        (label, seed, task, epoch, loss)
        for row, label in zip(rows, labels, strict=True)
        for seed, curve in _first(row, curves)
        for task in panels
        for epoch, loss in _thinned(curve.get(task, []))
    ]
    with pictures.settings(f"{KIND}-{dataset}"):
        shown = dict(zip(labels, looks([row.method for row in rows]), strict=True))
        png, svg = pictures.both(_figure(dataset, lines, panels, shown))
    text = csv_text(COLUMNS, lines)
    return pictures.Picture(KIND, dataset, TITLE, caption, False, png, svg, text)


def _figure(
    dataset: str, lines: Sequence[Line], panels: Sequence[int], shown: Mapping[str, Look]
) -> Figure:
    across = min(ACROSS, len(panels))
    down = math.ceil(len(panels) / across)
    figure, axes = pictures.blank(1.7 * across + 2.2, 1.6 * down + 0.7, down, across, share=True)
    for axis, task in zip(axes.flat, panels, strict=False):
        _panel(axis, [line for line in lines if line[2] == task], shown)
        axis.set_title(f"task {task}", fontsize=pictures.FONT)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    if min(loss for *_, loss in lines) > 0:
        from matplotlib import ticker

        axes.flat[0].set_yscale("log")
        axes.flat[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        # text as it stands: figures show no formulas
        axes.flat[0].yaxis.set_minor_formatter(ticker.LogFormatter(labelOnlyBase=False))
    named = {
        name: handle
        for axis in axes.flat
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(named.values()), list(named), fontsize=pictures.FONT - 1, loc="outside right center"
    )
    figure.supxlabel("epoch", fontsize=pictures.FONT)
    figure.supylabel("loss", fontsize=pictures.FONT)
    figure.suptitle(figure_data.printable(f"{dataset}: {TITLE}"), fontsize=pictures.FONT + 2)
    return figure


def _panel(axis: Axes, lines: Sequence[Line], shown: Mapping[str, Look]) -> None:
    """Draw one task: a line per row, which looks the same in every panel."""
    for label, look in shown.items():
        own = [(epoch, loss) for who, _, _, epoch, loss in lines if who == label]
        if own:
            axis.plot(
                *zip(*own, strict=True),
                look.line,
                color=look.colour,
                marker=look.marker,
                markersize=2.5,
                markevery=max(1, len(own) // 4),
                linewidth=1,
                label=label,
            )


def _first(row: SeedsRow, curves: Mapping[str, Curves]) -> list[tuple[int, Curves]]:
    """Return the first seed of a row that has curves, and these; nothing where none has."""
    known = zip(row.seeds, row.sha256, strict=True)
    return [(seed, curves[sha256]) for seed, sha256 in known if sha256 in curves][:1]


def _spread(count: int, most: int) -> list[int]:
    """Return at most `most` of the numbers 1 to `count`, the first and the last among them."""
    return sorted({int(at) for at in np.linspace(1, count, min(count, most)).round()})


def _thinned(curve: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [curve[at - 1] for at in _spread(len(curve), POINTS)]


def _left_out(panels: Sequence[int], tasks: int) -> str:
    return f" ({len(panels)} of {tasks} tasks)" * (len(panels) < tasks)
