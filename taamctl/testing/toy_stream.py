"""A toy stream for one method: three small tasks of well-separated classes on small graphs, and
two ways through them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import torch
from taamctl.core.progress import SILENT
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.learn_stages import train_stream
from taamctl.learning.contract.method import Method, State
from taamctl.params import binding, params_file
from taamctl.params.train_params import TrainParams
from taamctl.propagation import group_graph
from taamctl.store.feature_store import EXTRAS

INFO = StreamInfo(10, ((0, 2), (2, 4), (4, 5)))  # the last task has one class
NODES = 20
TOY_TRAIN = TrainParams(
    epochs=5, lr=0.01, weight_decay=0.0005, balance=True, node_batch=0, device="cpu", threads=1
)
States = list[dict[str, Array]]


class Plugin(Protocol):
    """What a method's module has; `DEFAULTS` too where it is outside this package."""

    Method: type[Method]
    Params: type[Any] | None


class ToyStream:
    """One method's module and what its checks need of it.

    Args:
        module: a plug-in with `Method`, `Params` and, outside this package, `DEFAULTS`.
        values: changes of the method's usual parameters.
    """

    def __init__(self, module: Plugin, values: Mapping[str, object] | None = None) -> None:
        self.module = module
        self.info = INFO
        self.facts = module.Method.facts
        self.values = {**usual_values(module), **(values or {})}

    def make(self, seed: int = 1, train: TrainParams = TOY_TRAIN, **changes: object) -> Method:
        """Make a method.

        Args:
            changes: of the method's own parameters.
        """
        device = torch.device("cpu")
        # As training does: the last bits depend on it, and small arrays are fastest so.
        devices.pin(device, train.threads)
        own: object = None
        faults: list[str] = []
        if self.module.Params is not None:
            own = binding.bind(self.module.Params, {**self.values, **changes}, "DEFAULTS", faults)
        assert not faults, (
            "the values of the parameters do not fit `Params`; mend DEFAULTS:\n" + "\n".join(faults)
        )
        return self.module.Method(own, self.info, train, seed, device)

    @property
    def has_budget(self) -> bool:
        """Tell whether the method has the parameter that sizes a replay method's memory."""
        return "budget" in getattr(self.module.Params, "__dataclass_fields__", {})

    def tasks(self, seed: int = 0, *, one_node: bool = False) -> list[TaskData]:
        """Return the training parts, with the extras that the method's `facts.needs` names and
        no others.
        """
        return [
            _graph(k, seed, one_node).task(self.facts.needs) for k in range(self.info.num_tasks)
        ]

    def query(self, k: int, seed: int = 0, order: Sequence[int] = range(NODES)) -> QueryGraph:
        """Return the nodes of a task as a query graph, with the extras that `facts.query_needs`
        names.

        Args:
            order: [N] the order that the nodes come in; that of `tasks` unless given.
        """
        toy = _graph(k, seed, one_node=False)
        order = list(order)
        extras = _extras(toy.x[order], toy.linked[np.ix_(order, order)], self.facts.query_needs)
        return QueryGraph(toy.h[order], toy.deg[order], extras)

    def learn(self, method: Method, data: Sequence[TaskData]) -> States:
        """Take one object through the whole stream and return what it kept of every stage; {}
        where there is no model.
        """
        states: States = []
        for k in range(len(data)):
            first = 0 if method.facts.sees == "all" else k
            if method.trains(k):
                method.learn(tuple(data[first : k + 1]))
            states.append(method.state() if method.trains(k) else {})
        return states

    def stream(
        self,
        make: Callable[[], Method],
        data: Sequence[TaskData],
        before: Callable[[int], None] = lambda k: None,
    ) -> States:
        """Go through the stream as `taamctl train` does: a new object per stage, which gets the
        earlier states and nothing else.

        Args:
            before: called with a task's index whenever that task is about to be handed over.

        Raises:
            AssertionError: a state holds more than the method declares.
        """
        finished = _Finished()

        def task(k: int) -> TaskData:
            before(k)
            return data[k]

        try:
            train_stream(make, task, self.sizes(data), finished, SILENT)
        except TaamctlError as error:
            raise AssertionError(f"{error.message}: {error.hint}") from error
        return [finished.states.get(k, {}) for k in range(len(data))]

    def sizes(self, data: Sequence[TaskData]) -> Array:
        """Return [C] training nodes per class."""
        return np.bincount(torch.cat([t.y for t in data]).numpy(), minlength=self.info.num_classes)

    @cached_property
    def learned(self) -> tuple[Method, States]:
        """Return a method that has learned the stream and its states, for checks that only
        predict.
        """
        method = self.make()
        return method, self.learn(method, self.tasks())

    def loaded(self, stage: int = -1) -> tuple[Method, States]:
        """Return `learned`, with the model as it was after a stage; the last unless given."""
        method, states = self.learned
        method.load(method.shared(), states[: stage % len(states) + 1])
        return method, states


def usual_values(module: Plugin) -> dict[str, object]:
    """Return the usual values of a plug-in's parameters: the packaged params.yaml's for one of
    ours, else its `DEFAULTS`.
    """
    if module.Params is None:
        return {}
    package, _, name = str(getattr(module, "__name__", "")).rpartition(".")
    if package == "taamctl.methods":
        return dict(params_file.read(params_file.PACKAGED)["methods"][name])
    given = getattr(module, "DEFAULTS", None)
    assert isinstance(given, Mapping), (
        "the module has Params but no DEFAULTS; give it a mapping with a value for every parameter"
    )
    return dict(given)


@dataclass(frozen=True)
class _Graph:
    """A task's nodes: x [N, F] raw features, linked [N, N] symmetric weights with self-loops, y
    [N]; H and degrees follow from them.
    """

    index: Task
    x: Array
    linked: Array
    y: Array

    @property
    def h(self) -> torch.Tensor:
        edges = group_graph.adjacency(_extras(self.x, self.linked, ("edges",)))
        return group_graph.propagate_rows(edges, torch.from_numpy(self.x), INFO.hops)

    @property
    def deg(self) -> torch.Tensor:
        return torch.from_numpy(self.linked.sum(1).astype(np.float32))

    def task(self, needs: Sequence[str]) -> TaskData:
        extras = _extras(self.x, self.linked, needs)
        return TaskData(self.index, self.h, torch.from_numpy(self.y), self.deg, extras)


def _graph(k: int, seed: int, one_node: bool) -> _Graph:
    low, high = INFO.bounds[k]
    y = np.arange(NODES) % (high - low)
    if one_node and high - low > 1:
        y = np.array([0] * (NODES - 1) + [1])
    rng = numpy_generator(seed, "kit", k)
    means = 3 * np.eye(INFO.num_features)[low + y]
    x = (rng.random((NODES, INFO.num_features)) + means).astype(np.float32)
    linked = np.triu(rng.random((NODES, NODES)) < 0.2, 1)
    linked &= y[:, None] == y  # inside a class, so that H keeps classes apart
    loops = np.diag(1 + (np.arange(NODES) % 5 == 0))  # a node that had a loop has two
    return _Graph(Task(k, low, high), x, (linked | linked.T) + loops, y + low)


def _extras(x: Array, linked: Array, needs: Sequence[str]) -> dict[str, Array]:
    """Return the cached arrays that a method asks for, as precompute stores them: a loop of
    weight 2 stands twice among the edges.
    """
    import scipy.sparse as sp

    values = sp.csr_matrix(x)
    every = {
        "x_indptr": values.indptr.astype(np.int64),
        "x_indices": values.indices.astype(np.int32),
        "x_data": values.data,
        "indptr": np.concatenate([[0], np.cumsum(linked.sum(1))]),
        "indices": np.repeat(np.tile(np.arange(NODES, dtype=np.int32), NODES), linked.ravel()),
    }
    return {name: every[name] for need in needs for name in EXTRAS[need]}


class _Finished:
    """Finished stages, in memory."""

    def __init__(self) -> None:
        self.states: dict[int, dict[str, Array]] = {}

    def load(self, stage: int) -> None:
        """Return nothing: every run is a new one."""

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        self.states[stage] = dict(state)
