"""The vocabulary: graphs, tasks, task streams, query graphs and predictions.

Shapes and dtypes are checked on construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from taamctl.core.errors import MEND, TaamctlError
from taamctl.core.outside import Outside

if TYPE_CHECKING:
    import torch

PARTS = ("train", "val", "test")
SCOPES = ("all_seen", "up_to_task", "task_only")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class CSR:
    """A sparse matrix in compressed rows.

    Attributes:
        indptr: [rows + 1] int64, row boundaries.
        indices: [nnz] int32, column ids, increasing and unique inside a row.
        data: [nnz] float32, or None where every stored entry is 1.
        shape: (rows, columns).
    """

    indptr: Array
    indices: Array
    data: Array | None
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        rows, columns = self.shape
        if self.indptr.shape != (rows + 1,) or self.indptr.dtype != np.int64:
            raise TaamctlError(
                f"CSR row pointer is {self.indptr.dtype} {self.indptr.shape}, expected int64 "
                f"({rows + 1},)",
                MEND,
            )
        if self.indices.dtype != np.int32 or self.indices.ndim != 1:
            raise TaamctlError(
                f"CSR column ids are {self.indices.dtype} {self.indices.shape}, expected int32 "
                "(nnz,)",
                MEND,
            )
        if int(self.indptr[-1]) != len(self.indices):
            raise TaamctlError(
                f"CSR row pointer ends at {int(self.indptr[-1])} but {len(self.indices)} entries "
                "are stored",
                MEND,
            )
        if self.data is not None and (
            self.data.dtype != np.float32 or self.data.shape != self.indices.shape
        ):
            raise TaamctlError(
                f"CSR values are {self.data.dtype} {self.data.shape}, expected float32 "
                f"{self.indices.shape}",
                MEND,
            )
        if len(self.indices) and (
            int(self.indices.min()) < 0 or int(self.indices.max()) >= columns
        ):
            raise TaamctlError(f"CSR column ids lie outside 0..{columns - 1}", MEND)

    @property
    def nnz(self) -> int:
        """Return the number of stored entries."""
        return len(self.indices)

    def rows(self, low: int, high: int) -> CSR:
        """Return rows [low, high) as views into this matrix."""
        a, b = int(self.indptr[low]), int(self.indptr[high])
        data = None if self.data is None else self.data[a:b]
        return CSR(
            self.indptr[low : high + 1] - a, self.indices[a:b], data, (high - low, self.shape[1])
        )

    @staticmethod
    def of_dense(x: Array) -> CSR:
        """Return the nonzero entries of a dense matrix, [N, F] float32."""
        n, f = x.shape
        filled = x != 0
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.count_nonzero(filled, axis=1), out=indptr[1:])
        # One index into all numbers, from which columns follow: two indices take NumPy far longer.
        before = np.repeat(np.arange(n, dtype=np.int64) * f, np.diff(indptr))
        columns = (np.flatnonzero(filled) - before).astype(np.int32)
        return CSR(indptr, columns, x[filled], (n, f))


@dataclass(frozen=True)
class Given:
    """What a user's own graph says about its stream, beside edges, features and labels; None where
    it says nothing.

    Attributes:
        arrival: [C] int64, the task that every class arrives with, tasks numbered from 0 without a
            gap.
        part: [N] int8, the part of every node as an index into `PARTS`; -1 where none is given.
        time: [N] float64, when a node appeared, in any unit; NaN where unknown.
        node_id: [N] text, the nodes' names in the source.
    """

    arrival: Array | None = None
    part: Array | None = None
    time: Array | None = None
    node_id: Array | None = None


@dataclass(frozen=True)
class NodeGraph:
    """A whole graph as a data set delivers it, after its reader brought it into one documented node
    order.

    Attributes:
        name: the data set's name.
        adjacency: [N, N] binary; row v holds the nodes u with an edge u -> v, so a row receives
            messages.
        features: [N, F] float32, dense or CSR.
        labels: [N] int64 in 0..C-1; -1 marks an unlabelled node.
        class_names: C names, in label order.
        notes: what the reader had to say about the raw data (casts, dropped duplicates), for the
            report.
        given: a stream, parts, times and names that the source itself states.
        feature_names: F names, each once, in the order of the columns; empty where the source has
            none.
        outside: edges to nodes of another graph; None where there are none.
    """

    name: str
    adjacency: CSR
    features: Array | CSR
    labels: Array
    class_names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    given: Given = field(default_factory=Given)
    feature_names: tuple[str, ...] = ()
    outside: Outside | None = None

    def __post_init__(self) -> None:
        self._check_arrays()
        n = self.adjacency.shape[0]
        require_fitting(self.name, n, self.labels, len(self.class_names), self.given, len(PARTS))
        self._check_names()
        require_finite(self.name, self.features)

    def _check_arrays(self) -> None:
        n = self.adjacency.shape[0]
        if self.adjacency.shape != (n, n):
            raise TaamctlError(
                f"{self.name}: the adjacency is {self.adjacency.shape}, expected a square matrix",
                MEND,
            )
        if self.features.shape[0] != n or len(self.features.shape) != 2:
            raise TaamctlError(
                f"{self.name}: {self.features.shape[0]} feature rows for {n} nodes",
                "every node needs one feature row; check that both files come from the same graph",
            )
        if isinstance(self.features, np.ndarray) and self.features.dtype != np.float32:
            raise TaamctlError(
                f"{self.name}: features are {self.features.dtype}, expected float32", MEND
            )

    def _check_names(self) -> None:
        names = self.feature_names
        if names and not len(set(names)) == len(names) == self.num_features:
            raise TaamctlError(
                f"{self.name}: {len(names)} names for {self.num_features} features, each of which "
                "has its own",
                MEND,
            )
        n = self.adjacency.shape[0]
        ids = self.given.node_id
        if ids is not None and len(ids) != n:
            raise TaamctlError(f"{self.name}: {len(ids)} node names for {n} nodes", MEND)
        if self.outside is not None:
            self.outside.check(self.name, n)

    @property
    def num_nodes(self) -> int:
        """Return N."""
        return int(self.adjacency.shape[0])

    @property
    def num_features(self) -> int:
        """Return F."""
        return int(self.features.shape[1])


def require_fitting(
    name: str, num_nodes: int, labels: Array, num_classes: int, given: Given, parts: int
) -> None:
    """Refuse labels, and arrays that the source states, of another shape, type or range than
    `NodeGraph` says; `parts` is how many parts there are.
    """
    _require_one(name, "labels", labels, np.int64, num_nodes)
    if len(labels) and not -1 <= labels.min() <= labels.max() < num_classes:
        raise TaamctlError(f"{name}: labels lie outside -1..{num_classes - 1}", MEND)
    _require_one(name, "given arrival", given.arrival, np.int64, num_classes)
    _require_one(name, "given part", given.part, np.int8, num_nodes)
    _require_one(name, "given time", given.time, np.float64, num_nodes)
    part = given.part
    if part is not None and len(part) and not -1 <= part.min() <= part.max() < parts:
        raise TaamctlError(f"{name}: given parts lie outside -1..{parts - 1}", MEND)
    _require_no_gap(name, given.arrival)


def require_finite(name: str, x: Array | CSR, first: int = 0) -> None:
    """Refuse features that are not finite: the first is named by row and column.

    Args:
        x: rows [n, F] of a graph. first: the graph's row that is the first of them.
    """
    values = x if isinstance(x, np.ndarray) else x.data
    if values is None or np.isfinite(values).all():
        return
    if isinstance(x, np.ndarray):
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(x)))
        value = x[row, column]
    else:
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(x.indptr, at, side="right")) - 1
        column, value = int(x.indices[at]), values[at]
    raise TaamctlError(
        f"{name}: feature {value} at row {first + row}, column {column}",
        "features must be finite; repair or drop that row in the raw data",
    )


def _require_one(name: str, what: str, values: Array | None, dtype: type, length: int) -> None:
    if values is not None and (values.shape != (length,) or values.dtype != dtype):
        verb = "are" if what == "labels" else "is"
        raise TaamctlError(
            f"{name}: {what} {verb} {values.dtype} {values.shape}, expected "
            f"{np.dtype(dtype)} ({length},)",
            MEND,
        )


def _require_no_gap(name: str, arrival: Array | None) -> None:
    if arrival is None or not len(arrival):
        return
    tasks = set(arrival.tolist())
    if tasks != set(range(int(arrival.max()) + 1)):
        raise TaamctlError(
            f"{name}: classes arrive with the tasks {sorted(tasks)}",
            "number tasks from 0 without a gap",
        )


@dataclass(frozen=True)
class Task:
    """Classes learned together: the stream's class ids [low, high)."""

    index: int
    low: int
    high: int

    @property
    def classes(self) -> range:
        """Return the task's class ids in stream order."""
        return range(self.low, self.high)


@dataclass(frozen=True)
class TaskStream:
    """The ordered tasks, and how stream class ids map back to the data set's labels.

    Attributes:
        tasks: T tasks, contiguous and disjoint, covering 0..C-1.
        labels: C original label ids, in stream order.
        class_names: C names, in stream order.
    """

    tasks: tuple[Task, ...]
    labels: tuple[int, ...]
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        at = 0
        for i, task in enumerate(self.tasks):
            if task.index != i or task.low != at or task.high <= task.low:
                raise TaamctlError(
                    f"task {i + 1} owns classes [{task.low}, {task.high}) but should start at {at}",
                    MEND,
                )
            at = task.high
        if at != len(self.labels) or at != len(self.class_names):
            raise TaamctlError(
                f"tasks cover {at} classes, {len(self.labels)} labels and {len(self.class_names)} "
                "names",
                MEND,
            )

    @property
    def num_classes(self) -> int:
        """Return C, the classes in the stream (dropped ones not counted)."""
        return len(self.labels)


@dataclass(frozen=True)
class StreamInfo:
    """What a method may know before it learns: sizes only.

    Attributes:
        num_features: F.
        bounds: per task its class ids (low, high).
        hops: k of H = S^k X.
    """

    num_features: int
    bounds: tuple[tuple[int, int], ...]
    hops: int = 2

    @property
    def num_tasks(self) -> int:
        """Return T."""
        return len(self.bounds)

    @property
    def num_classes(self) -> int:
        """Return C."""
        return self.bounds[-1][1]


@dataclass(frozen=True)
class TaskData:
    """One task's training part, as a method sees it.

    Attributes:
        task: index and class range.
        h: [N, F] float32, H = S^k X of the training graph alone.
        y: [N] int64, stream class ids in [task.low, task.high).
        deg: [N] float32, in-degrees with the self-loop.
        extras: optional cached arrays (raw features, edges) for methods that declare a need for
            them.
    """

    task: Task
    h: torch.Tensor
    y: torch.Tensor
    deg: torch.Tensor
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.h.ndim != 2 or self.h.shape[0] != self.y.shape[0] or self.deg.shape != self.y.shape:
            raise TaamctlError(
                f"task {self.task.index + 1}: features {tuple(self.h.shape)}, labels "
                f"{tuple(self.y.shape)} and degrees {tuple(self.deg.shape)} do not fit together",
                MEND,
            )


@dataclass(frozen=True)
class QueryGraph:
    """What a task-ID decision and predictions are made for.

    It has neither labels nor a task index, so neither can leak.

    Attributes:
        h: [N, F] float32, H = S^k X of the query graph alone.
        deg: [N] float32.
        extras: as for `TaskData`, for methods that declare `query_needs`; of the query graph alone.
    """

    h: torch.Tensor
    deg: torch.Tensor
    extras: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """Predicted class ids of one query graph, for every logit scope.

    Attributes:
        labels: scope -> [N] int64 stream class ids.
    """

    labels: Mapping[str, torch.Tensor]

    def __post_init__(self) -> None:
        if set(self.labels) != set(SCOPES):
            raise TaamctlError(
                f"a prediction needs the scopes {', '.join(SCOPES)}, got "
                f"{', '.join(sorted(self.labels))}",
                MEND,
            )
