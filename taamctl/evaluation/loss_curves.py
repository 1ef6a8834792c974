"""The training losses of a run as a table: what `dvc plots` and the report draw. Pure functions."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np

from taamctl.core.types import Array

COLUMNS = ("step", "task", "epoch", "loss")
Curves = Mapping[int, list[tuple[int, float]]]  # task -> (epoch, loss), both counted from 1


def table(losses: Array) -> str:
    """Return the losses as CSV, one line per epoch of every task.

    `step` counts the epochs of all tasks, so that one axis holds them one after another. A task
    with one loss, as of a closed form, has no curve and no line.

    Args:
        losses: [T, epochs] float32; NaN where nothing was trained.
    """
    lines = [",".join(COLUMNS)]
    there = ~np.isnan(losses)
    known = np.argwhere(there & (there.sum(1, keepdims=True) > 1))
    for step, (task, epoch) in enumerate(known, 1):
        # str of a float32 is the shortest text that reads back as the same number
        lines.append(f"{step},{task + 1},{epoch + 1},{losses[task, epoch]!s}")
    return "\n".join(lines) + "\n"


def read(text: str) -> Curves:
    """Return what `table` wrote.

    Raises:
        ValueError, KeyError: it is no such table.
    """
    found: dict[int, list[tuple[int, float]]] = {}
    for line in csv.DictReader(io.StringIO(text)):
        found.setdefault(int(line["task"]), []).append((int(line["epoch"]), float(line["loss"])))
    return found
