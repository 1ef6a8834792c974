"""The figures of one data set, each as PNG, SVG and CSV: the same rows give the same bytes.

Methods look as `method_looks` says, in every figure; heat maps are cividis.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from taamctl.core.types import Array
from taamctl.report import best_figure, figure_data, method_looks
from taamctl.report.figure_axes import accuracy, percent, stretch, tasks
from taamctl.report.figure_data import Evidence, Record, Table
from taamctl.report.leading import Leading
from taamctl.report.method_looks import Look
from taamctl.report.pictures import (
    CAPTION,
    FONT,
    GREY,
    INK,
    Picture,
    blank,
    both,
    settings,
)
from taamctl.report.report_rows import RunRow, SeedsRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_all(
    rows: Sequence[SeedsRow],
    runs: Sequence[RunRow],
    seconds: Mapping[str, float],
    leading: Sequence[Leading] = (),
) -> list[Picture]:
    """Draw every figure of every data set.

    Args:
        rows: rows over seeds.
        runs: the single runs behind them.
        seconds: wall seconds of training by a run's sha256, where they are known.
        leading: methods on one mixed graph, where a lens has them.
    """
    known = {run.sha256: run for run in runs}
    return [
        draw(
            kind,
            Evidence(
                [row for row in rows if row.dataset == dataset],
                known,
                seconds,
                [each for each in leading if each.dataset == dataset],
            ),
        )
        for dataset in sorted({row.dataset for row in rows})
        for kind in figure_data.KINDS
    ]


def draw(kind: str, evidence: Evidence) -> Picture:
    """Draw one figure.

    Args:
        kind: a name in `figure_data.KINDS`.
        evidence: rows of one data set and what is behind them.
    """
    what = figure_data.KINDS[kind]
    table, caption = what.table(evidence), figure_data.caption(kind, evidence)
    with settings(f"{kind}-{evidence.dataset}"):
        figure = _titled(kind, table, evidence)
        width, height = figure.get_size_inches()
        text = textwrap.fill(caption.partition(". ")[2], int(20 * width), break_on_hyphens=False)
        room = 0.14 * (text.count("\n") + 1)
        figure.set_size_inches(width, height + room)
        label = figure.supxlabel(text, fontsize=FONT - 1.5, x=0.01, ha="left", color=INK)
        label.set_gid(CAPTION)
        png, svg = both(figure)
    what_it_is = (kind, evidence.dataset, what.title, caption, what.timed)
    return Picture(*what_it_is, png, svg, table.csv(), 72 * room)


def figure_of(kind: str, evidence: Evidence) -> Figure:
    """Return one figure without its caption, to be changed."""
    with settings(f"{kind}-{evidence.dataset}"):
        return _titled(kind, figure_data.KINDS[kind].table(evidence), evidence)


def _titled(kind: str, table: Table, evidence: Evidence) -> Figure:
    figure = _DRAW[kind](table, evidence)
    title = f"{evidence.dataset}: {figure_data.KINDS[kind].title}"
    figure.suptitle(figure_data.printable(title), fontsize=FONT + 3)
    return figure


def _matrices(table: Table, evidence: Evidence) -> Figure:
    import matplotlib

    rows = evidence.rows
    columns = min(len(rows), _columns(len(rows)))
    lines = math.ceil(len(rows) / columns)
    side = 3.4 if len(rows) <= 6 else 2.5
    figure, axes = blank(
        max(side * columns + 0.9, 5.0), (side + 0.15) * lines + 0.7, lines, columns
    )
    colours = matplotlib.colormaps["cividis"]
    low = _lowest(table)
    for axis, row, label in zip(axes.flat, rows, figure_data.labels(rows), strict=False):
        matrix = 100 * np.array(row.matrix, np.float64)  # None becomes NaN
        matrix[np.triu_indices(len(matrix), 1)] = np.nan
        axis.set_facecolor(GREY)  # where there is no value; unlike an image's, the page can turn it
        image = axis.imshow(np.ma.masked_invalid(matrix), vmin=low, vmax=100, cmap=colours)
        aa = "no value" if row.aa is None else f"AA {100 * row.aa:.1f} %"
        name = label if f", {row.scope}" in label else f"{label}, {row.scope}"
        axis.set_title(f"{textwrap.fill(name, int(13 * side))}\n{aa}", fontsize=FONT - 0.5)
        _ticks(axis, matrix, side, low)
    for axis in list(axes.flat)[len(rows) :]:
        axis.axis("off")
    for axis in axes[:, 0]:
        axis.set_ylabel("after stage", fontsize=FONT)
    for column in range(columns):
        axes[(len(rows) - 1 - column) // columns, column].set_xlabel("task", fontsize=FONT)
    bar = figure.colorbar(
        image, ax=axes, shrink=min(0.8, 3.0 / lines), aspect=30, label="accuracy, %"
    )
    bar.outline.set_visible(False)
    return figure


def _columns(panels: int) -> int:
    """Return the most panels side by side."""
    if panels <= 6:
        return 3
    return 4 if panels <= 12 else 5


def _lowest(table: Table) -> float:
    """Return where the colours of the accuracies begin, in per cent: the ten below the lowest."""
    values = [r["accuracy"] for r in table.records() if r["accuracy"] is not None]
    return min(90.0, 10.0 * math.floor(10 * min(values, default=0.0)))


def _ticks(axis: Axes, matrix: Array, side: float, low: float) -> None:
    """Number the tasks of a heat map, and write the values where they fit.

    `side`: inches of the panel. `low`: the accuracy that the colours begin at.
    """
    dark = low + 0.55 * (100 - low)
    tasks = len(matrix)
    every = max(1, -(-tasks // 8))
    axis.set_xticks(
        range(0, tasks, every), [str(t + 1) for t in range(0, tasks, every)], fontsize=FONT - 1
    )
    axis.set_yticks(
        range(0, tasks, every), [str(t + 1) for t in range(0, tasks, every)], fontsize=FONT - 1
    )
    axis.grid(visible=False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    if tasks <= 3 * side:
        for t, j in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            axis.text(
                j,
                t,
                f"{matrix[t, j]:.0f}",
                ha="center",
                va="center",
                fontsize=min(FONT, 20 * side / max(tasks, 5)),
                color="white" if matrix[t, j] < dark else "black",
            )


def _curves(table: Table, evidence: Evidence) -> Figure:
    figure, axes = _beside(evidence)
    axis = axes[0, 0]
    for look, label in zip(_looks(evidence), figure_data.labels(evidence.rows), strict=True):
        own = [r for r in table.records() if r["label"] == label]
        x, y, std = [r["stage"] for r in own], percent(own, "aa"), percent(own, "aa_std")
        if own[0]["seeds"] > 1:
            axis.fill_between(x, y - std, y + std, color=look.colour, alpha=0.15, linewidth=0)
        axis.plot(
            x, y, **_line(look), markevery=max(1, len(x) // 8) if np.isfinite(y).sum() > 1 else 1
        )
    tasks(axis, evidence.num_tasks)
    accuracy(axis.yaxis, table, ("aa",), "average accuracy over the tasks seen, %")
    return _legend(figure, evidence, lines=True)


def _first_task(table: Table, evidence: Evidence) -> Figure:
    figure, axes = _beside(evidence)
    axis = axes[0, 0]
    axis.plot([0, 100], [0, 100], color="#777777", linestyle="--", linewidth=0.8)
    _points(axis, table, _looks(evidence), ("last_task", 100), ("first_task", 100))
    for side, name in ((axis.xaxis, "last"), (axis.yaxis, "first")):
        accuracy(
            side, table, ("last_task", "first_task"), f"accuracy on the {name} task, at the end, %"
        )
    return _legend(figure, evidence)


def _task_ids(table: Table, evidence: Evidence) -> Figure:
    import matplotlib

    cells = {(r["profile"], r["metric"]): r for r in table.records()}
    profiles = list(dict.fromkeys(profile for profile, _ in cells))
    metrics = list(dict.fromkeys(metric for _, metric in cells))
    figure, axes = blank(1.7 * len(metrics) + 2.0, 1.1 * len(profiles) + 0.8)
    axis = axes[0, 0]
    shape = (len(profiles), len(metrics))
    values = percent(list(cells.values()), "task_id_accuracy").reshape(shape)
    colours = matplotlib.colormaps["cividis"]
    axis.set_facecolor(GREY)
    image = axis.imshow(np.ma.masked_invalid(values), vmin=0, vmax=100, cmap=colours, aspect="auto")
    for (i, j), cell in zip(np.ndindex(shape), cells.values(), strict=True):
        axis.text(
            j,
            i,
            _cell_text(cell),
            ha="center",
            va="center",
            fontsize=FONT,
            color="white" if values[i, j] < 55 else "black",
        )
    axis.set_xticks(range(len(metrics)), [m or "none" for m in metrics])
    axis.set_yticks(range(len(profiles)), profiles)
    axis.set_xlabel("metric")
    axis.set_ylabel("task profile")
    axis.grid(visible=False)
    figure.colorbar(image, ax=axis, label="task-ID accuracy, %").outline.set_visible(False)
    return figure


def _cell_text(cell: Record) -> str:
    """Return the mean, the range where there is one, and how many rows stand behind them."""
    if cell["task_id_accuracy"] is None:
        return "not run"
    spread = ""
    if cell["lowest"] != cell["highest"]:
        spread = f"\n{100 * cell['lowest']:.1f} to {100 * cell['highest']:.1f}"
    rows = {0: "no row", 1: "1 row"}.get(cell["rows"], f"{cell['rows']} rows")
    return f"{100 * cell['task_id_accuracy']:.1f} %{spread}\n{rows}"


def _times(table: Table, evidence: Evidence) -> Figure:
    figure, axes = _beside(evidence)
    axis = axes[0, 0]
    seconds = [r["train_seconds"] for r in table.records() if r["train_seconds"] is not None]
    if seconds:
        _points(axis, table, _looks(evidence), ("train_seconds", 1), ("aa", 100))
        stretch(axis.xaxis, seconds)
    else:
        axis.set_xticks([])
        axis.text(
            0.5,
            0.5,
            "no training time is recorded beside these runs",
            ha="center",
            transform=axis.transAxes,
        )
    axis.set_xlabel("training, s")
    accuracy(axis.yaxis, table, ("aa",), "AA, %")
    return _legend(figure, evidence)


def _memory(table: Table, evidence: Evidence) -> Figure:
    figure, axes = _beside(evidence, 2)
    for axis, (column, name) in zip(axes[0], _COUNTS, strict=True):
        _points(axis, table, _looks(evidence), (column, 1), ("aa", 100))
        stretch(axis.xaxis, [r[column] for r in table.records()])
        axis.set_xlabel(f"additional float32 words, {name}")
    accuracy(axes[0, 0].yaxis, table, ("aa",), "AA, %")
    return _legend(figure, evidence)


def _growth(table: Table, evidence: Evidence) -> Figure:
    figure, axes = _beside(evidence, 2)
    for axis, (column, name) in zip(axes[0], _COUNTS, strict=True):
        for look, label in zip(_looks(evidence), figure_data.labels(evidence.rows), strict=True):
            own = [r for r in table.records() if r["label"] == label]
            axis.plot(
                [r["task"] for r in own],
                [r[column] for r in own],
                **_line(look),
                markevery=[len(own) - 1],
                clip_on=False,
                zorder=3,
            )
        tasks(axis, evidence.num_tasks)
        axis.set_title(name, fontsize=FONT)
    stretch(
        axes[0, 0].yaxis, [r[column] for r in table.records() for column, _ in _COUNTS]
    )  # one scale for both
    axes[0, 0].set_ylabel("additional float32 words")
    return _legend(figure, evidence, lines=True)


_COUNTS = (("extra_paper", "papers' rule"), ("extra_full", "in full"))
_DRAW = {
    "best": best_figure.draw,
    "accuracy-matrix": _matrices,
    "accuracy-curve": _curves,
    "first-task": _first_task,
    "task-id": _task_ids,
    "accuracy-time": _times,
    "accuracy-memory": _memory,
    "parameters": _growth,
}


def _beside(evidence: Evidence, columns: int = 1) -> tuple[Figure, Array]:
    """Return panels with room for a legend at their right that is as high as it has rows."""
    longest = max(len(label) for label in figure_data.labels(evidence.rows))
    width, height = (
        4.2 * columns + 0.6 + 0.063 * min(longest, 60),
        max(3.6, 0.165 * len(evidence.rows) + 0.8),
    )
    return blank(width, height, 1, columns, share=columns > 1)


def _legend(figure: Figure, evidence: Evidence, *, lines: bool = False) -> Figure:
    """Put the legend outside of the panels, where it covers nothing."""
    from matplotlib.lines import Line2D

    names = figure_data.labels(evidence.rows)
    handles = [
        Line2D([], [], **(_line(look) if lines else {**_style(look), "linestyle": "none"}))
        for look in _looks(evidence)
    ]
    legend = figure.legend(
        handles,
        [" "] * len(names),
        loc="outside right center",
        fontsize=FONT - 0.5,
        handlelength=3 if lines else 1.5,
    )
    for text, name in zip(
        legend.get_texts(), names, strict=True
    ):  # set afterwards: a label that starts with _ would be left out
        text.set_text(textwrap.shorten(name, 60, placeholder="…") or " ")
    return figure


def _looks(evidence: Evidence) -> list[Look]:
    return method_looks.looks([row.method for row in evidence.rows])


def _style(look: Look) -> dict[str, Any]:
    return {
        "color": look.colour,
        "marker": look.marker,
        "markersize": 5.5,
        "markerfacecolor": f"{look.colour}99",
        "markeredgecolor": look.colour,
    }


def _line(look: Look) -> dict[str, Any]:
    return {**_style(look), "linestyle": look.line, "linewidth": 1.2}


def _points(
    axis: Axes, table: Table, looks: list[Look], x: tuple[str, float], y: tuple[str, float]
) -> None:
    """Draw one point per line of the table, with bars where there are several seeds; each of x
    and y is (column, factor).
    """
    for look, record in zip(looks, table.records(), strict=True):
        if record[x[0]] is None or record[y[0]] is None:
            continue
        bars = {
            f"{name}err": factor * record[f"{column}_std"]
            for name, (column, factor) in (("x", x), ("y", y))
            if record["seeds"] > 1 and record.get(f"{column}_std") is not None
        }
        axis.errorbar(
            x[1] * record[x[0]],
            y[1] * record[y[0]],
            **bars,
            **_style(look),
            elinewidth=0.8,
            capsize=1.5,
            linestyle="none",
        )
