"""What a bank says about the nodes of a graph, and how it is written."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from taamctl.bank.explanation import Explanation
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.store.atomic_files import atomic

COLUMNS = ("node", "class", "task", "confidence", "unknown")
KINDS = (".csv", ".json", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Answers:
    """One answer per node.

    Attributes:
        node: [N] int64 or text, the node's number, or its name in its source.
        label: [N] int64, class as a position in `class_names`. class_names: of the whole bank.
        task: [N] int64, number of the task that owns the class.
        confidence: [N] float32 in (0, 1], what the bank takes for the probability of the class,
            were the node of a known one.
        novelty: [N] float64, how far the node lies below the training mean of its likeliest class,
            in standard deviations.
        unknown: [N] bool, whether that is so far that no class fits.
        notes: what there is to say about the graph as a whole.
        sets: [N, C] bool, the classes of which one is right as often as was asked; None: not asked.
        probabilities: [N, C] float32 of all classes; None: not asked.
        calibration: what the outputs were multiplied by, relative to the temperature that the
            bank was made with.
        owner: number of the task of every class.
        explanation: of the node that was asked for.
    """

    node: Array
    label: Array
    class_names: tuple[str, ...]
    task: Array
    confidence: Array
    novelty: Array
    unknown: Array
    notes: tuple[str, ...] = ()
    sets: Array | None = None
    probabilities: Array | None = None
    calibration: float = 1.0
    owner: tuple[int, ...] = ()
    explanation: Explanation | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns of `records`."""
        return COLUMNS + ("set",) * (self.sets is not None)

    @property
    def names(self) -> list[str]:
        """Return the class name of every node."""
        return [self.class_names[c] for c in self.label.tolist()]

    def records(self) -> Iterator[tuple[Any, ...]]:
        """Yield one row of `columns` per node; a set is a list of class names."""
        columns = [
            self.node.tolist(),
            self.names,
            self.task.tolist(),
            [round(float(c), 4) for c in self.confidence],
            self.unknown.tolist(),
        ]
        if self.sets is not None:
            columns.append([[self.class_names[c] for c in np.flatnonzero(s)] for s in self.sets])
        yield from zip(*columns, strict=True)


def require_writer(path: Path) -> None:
    """Refuse, before any work, a file that cannot be written as its name says."""
    require_kind(path.suffix, f"--out {path}")


def require_kind(ending: str, given: str) -> None:
    """Refuse, before any work, an ending that no format has.

    Args:
        given: the option and its value, for the message.
    """
    if ending not in KINDS:
        raise TaamctlError(
            f"{given}: no format for {ending or 'a name without ending'}",
            f"there are {', '.join(KINDS)}",
        )
    if ending == ".parquet":
        _pyarrow()


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TaamctlError(
            "Parquet needs pyarrow, which is not installed",
            "pip install pyarrow, or name the file *.csv",
        ) from None
    return pyarrow


def save(answers: Answers, path: Path) -> None:
    """Write answers whole or not at all, as the ending of the name says: CSV, JSON (an array),
    JSON lines or Parquet.
    """
    with atomic(path) as temporary:
        if path.suffix == ".parquet":
            arrow = _pyarrow()
            columns = [list(column) for column in zip(*answers.records(), strict=True)] or [
                [] for _ in answers.columns
            ]
            arrow.parquet.write_table(
                arrow.table(dict(zip(answers.columns, columns, strict=True))), temporary
            )
            return
        with temporary.open("w", encoding="utf-8", newline="") as file:
            {".csv": write_csv, ".json": write_json, ".jsonl": write_lines}[path.suffix](
                answers, file
            )


def write_csv(answers: Answers, file: TextIO) -> None:
    """Write CSV with a header; the classes of a set stand in one cell, as a JSON list."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(answers.columns)
    writer.writerows(
        (*row[:4], str(row[4]).lower(), *(json.dumps(each) for each in row[5:]))
        for row in answers.records()
    )


def write_json(answers: Answers, file: TextIO) -> None:
    """Write one JSON array."""
    file.write(
        json.dumps(
            [dict(zip(answers.columns, row, strict=True)) for row in answers.records()], indent=1
        )
        + "\n"
    )


def write_lines(answers: Answers, file: TextIO) -> None:
    """Write one JSON object per line."""
    file.writelines(
        json.dumps(dict(zip(answers.columns, row, strict=True))) + "\n" for row in answers.records()
    )
