"""Drawn rows of the shapes that a graph's counts tell: what a method is rehearsed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.core.types import Array, QueryGraph, StreamInfo, Task, TaskData
from taamctl.planning.costs import Counts

CELLS = 1 << 24  # values of the largest matrix that is drawn
FEWEST = 16  # rows, at least
QUERY = 10_000  # seed of the query graph


@dataclass(frozen=True)
class DrawnStage:
    """One stage of a stream.

    Attributes:
        counts: of the graph. hops: k of H = S^k X.
        index: the stage. together: how many tasks it is given.
    """

    counts: Counts
    hops: int
    index: int
    together: int = 1

    @cached_property
    def info(self) -> StreamInfo:
        """The stream: classes cut into tasks of one size, as far as that goes."""
        ends = np.linspace(0, self.counts.classes, self.counts.tasks + 1).round().astype(int)
        bounds = tuple(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
        return StreamInfo(self.counts.features, bounds, self.hops)

    @property
    def wanted(self) -> int:
        """The training rows of a task of mean size."""
        return max(2, self.counts.train // self.counts.tasks)

    @property
    def rows(self) -> int:
        """How many of them are drawn."""
        most = CELLS // (max(1, self.counts.features) * self.together)
        return min(self.wanted, max(FEWEST, most))

    @property
    def cut(self) -> float:
        """How many times as many rows there are."""
        return self.wanted / self.rows

    def data(self, needs: Sequence[str]) -> tuple[TaskData, ...]:
        """Return the training parts that the stage is given."""
        first = self.index + 1 - self.together
        tasks = (Task(k, *self.info.bounds[k]) for k in range(first, self.index + 1))
        return tuple(self._drawn(task, self.rows, needs, task.index) for task in tasks)

    def query(self, needs: Sequence[str]) -> QueryGraph:
        """Return a query graph of mean size, of the first task."""
        mean = (self.counts.val + self.counts.test) // (2 * self.counts.tasks)
        rows = max(1, min(mean, CELLS // max(1, self.counts.features)))
        made = self._drawn(Task(0, *self.info.bounds[0]), rows, needs, QUERY)
        return QueryGraph(made.h, made.deg, made.extras)

    def _drawn(self, task: Task, rows: int, needs: Sequence[str], seed: int) -> TaskData:
        rng = np.random.default_rng(seed)
        f = self.counts.features
        own = np.arange(rows) % max(1, task.high - task.low)
        centres = rng.standard_normal((max(1, task.high - task.low), f), np.float32)
        h = rng.standard_normal((rows, f), np.float32) + centres[own] / 2
        if self.counts.filled_h < 1:
            h[rng.random((rows, f), np.float32) > self.counts.filled_h] = 0
        degree = max(1, round(self.counts.kept / max(1, self.counts.rows)))
        extras: dict[str, Array] = {}
        if "edges" in needs:
            extras |= _edges(rng, rows, degree)
        if "x" in needs:
            extras |= _features(rng, rows, f, self.counts.filled)
        deg = torch.full((rows,), degree + 1.0)
        return TaskData(task, torch.from_numpy(h), torch.from_numpy(own + task.low), deg, extras)


def _edges(rng: np.random.Generator, rows: int, degree: int) -> dict[str, Array]:
    """Return random edges as `precompute` stores them: every row has its self-loop."""
    near = rng.integers(0, rows, (rows, degree + 1), dtype=np.int32)
    near[:, 0] = np.arange(rows)
    pointer = np.arange(rows + 1, dtype=np.int64) * (degree + 1)
    return {"indptr": pointer, "indices": near.ravel()}


def _features(rng: np.random.Generator, rows: int, f: int, filled: float) -> dict[str, Array]:
    """Return random raw features as CSR, as many values in every row."""
    each = max(1, min(f, round(filled * f)))
    first = rng.integers(0, f, (rows, 1))
    # columns side by side, round the end: different ones, without a draw of each
    columns = np.sort((first + np.arange(each)) % f, axis=1).astype(np.int32)
    return {
        "x_indptr": np.arange(rows + 1, dtype=np.int64) * each,
        "x_indices": columns.ravel(),
        "x_data": rng.random(rows * each, np.float32),
    }
