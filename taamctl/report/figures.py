"""The accuracy matrices of one data set's methods, side by side on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def accuracy_matrices(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw one heat map per row, mean over seeds, and save it as PNG with the same bytes for the same rows.

    Args:
        path: where to write.
        rows: rows over seeds, all of one data set.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(rows))
    lines = -(-len(rows) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(3.6 * columns + 0.9, 3.5 * lines + 0.9), squeeze=False,
                                   layout="constrained")
    colours = pyplot.get_cmap("cividis").with_extremes(bad="#e6e6e6")
    image = None
    for axis, row in zip(axes.flat, rows, strict=False):
        matrix = np.array([[np.nan if v is None else 100 * v for v in r] for r in row["matrix"]])
        image = axis.imshow(np.ma.masked_invalid(matrix), vmin=0, vmax=100, cmap=colours)
        _label(axis, matrix, row)
    for axis in list(axes.flat)[len(rows):]:
        axis.axis("off")
    first = rows[0]
    figure.suptitle(f"{first['dataset']}: accuracy on each task after each stage", fontsize=11)
    figure.supxlabel(f"task  ·  {first['averaging']} accuracy, {first['protocol']} protocol, {first['unit']} unit, {first['part']} part, "
                     f"mean over seeds {','.join(map(str, first['seeds']))}", fontsize=7)
    if image is not None:
        figure.colorbar(image, ax=axes, shrink=0.8, label="accuracy, %")
    figure.savefig(path, dpi=120, metadata={"Software": None}, format="png")
    pyplot.close(figure)


def _label(axis: Any, matrix: np.ndarray[Any, Any], row: Mapping[str, Any]) -> None:
    tasks = len(matrix)
    every = max(1, tasks // 8)
    axis.set_xticks(range(0, tasks, every), [str(t + 1) for t in range(0, tasks, every)], fontsize=7)
    axis.set_yticks(range(0, tasks, every), [str(t + 1) for t in range(0, tasks, every)], fontsize=7)
    axis.set_ylabel("after stage", fontsize=8)
    profile = f" ({row['profile']})" if row["profile"] else ""
    aa = "no value" if row["aa"] is None else f"AA {100 * row['aa']:.1f} %"
    axis.set_title(f"{row['title']}{profile}, {row['scope']}, {aa}", fontsize=8)
    if tasks <= 10:
        for t, j in zip(*np.nonzero(~np.isnan(matrix)), strict=True):
            axis.text(j, t, f"{matrix[t, j]:.0f}", ha="center", va="center", fontsize=7, color="white" if matrix[t, j] < 55 else "black")
