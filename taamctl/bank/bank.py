"""An opened bank: what predictions, checks and lists read. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TypeAlias

from taamctl.bank import manifest as manifests
from taamctl.bank import remote_bank, store, task_file
from taamctl.bank.answers import Answers
from taamctl.bank.config import Config, from_plain
from taamctl.bank.context import beside
from taamctl.bank.graph_source import InMemory, OnDisk, Query, Source
from taamctl.bank.node_server import NodeServer
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.predictor import Predictor
from taamctl.bank.router import Router
from taamctl.bank.single_nodes import SingleNodes
from taamctl.bank.task_file import Shared, TaskState
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.learning.contract.method import Method
from taamctl.runtime import provenance, remote_files

Graph: TypeAlias = NodeGraph | Source | str | Path


class Bank:
    """The newest generation of a bank.

    Attributes:
        folder: where it lies. manifest: what it lists. config: what it was made with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.manifest = folder, store.current(folder)
        self.config: Config = from_plain(self.manifest.config, str(folder / manifests.NAME))
        self._tasks: dict[int, TaskState] = {}

    def checked(self, stamp: tuple[str, str]) -> Path:
        """Return the path of a listed file.

        Raises:
            TaamctlError: it is missing, or not the file that was listed.
        """
        path = self.folder / stamp[0]
        if not path.is_file():
            raise TaamctlError(
                f"the bank lacks {path}",
                f"taamctl bank verify {quote(str(self.folder))} tells all that is wrong",
            )
        if provenance.sha256(path) != stamp[1]:
            raise TaamctlError(
                f"{path} is not the file that the bank lists: it was changed or damaged",
                f"taamctl bank verify {quote(str(self.folder))} tells all that is wrong",
            )
        return path

    @cached_property
    def shared(self) -> Shared:
        """Return what all tasks share."""
        if self.manifest.shared is None:
            raise self._empty()
        return task_file.read_shared(self.checked(self.manifest.shared), self.config)

    @cached_property
    def router(self) -> Router:
        """Return the solved router."""
        if self.manifest.router is None:
            raise self._empty()
        return task_file.read_router(
            self.checked(self.manifest.router), [t.classes for t in self.manifest.tasks]
        )

    def _empty(self) -> TaamctlError:
        return TaamctlError(
            f"the bank {self.folder} knows no class",
            f"teach it some: taamctl bank add-task {quote(str(self.folder))} --graph FILE",
        )

    def task(self, position: int) -> TaskState:
        """Return what is kept of a task."""
        if position not in self._tasks:
            entry = self.manifest.tasks[position]
            path = self.checked((entry.file, entry.sha256))
            self._tasks[position] = task_file.read_task(path, self.config.bank.router)
        return self._tasks[position]

    def expert(self, position: int) -> Method:
        """Return a task's own model.

        Raises:
            TaamctlError: it was taken away when nodes were forgotten, or the bank has none.
        """
        self.config.require_experts("expert")
        task = self.task(position)
        if not task.state:
            raise TaamctlError(
                f"task {self.manifest.tasks[position].number} has no model of its own: it was "
                "taken away when nodes were forgotten",
                "use --decide router, or give all nodes of the task again: taamctl bank update",
            )
        return task_file.expert(self.config, self.shared, task.state, len(task.classes))

    @subnormals.flushed()
    def predict(
        self,
        graph: Graph,
        *,
        options: PredictOptions | None = None,
        decide: str | None = None,
        router: str = "auto",
        unit: str = "node",
        unknown: float | None = None,
        context: Graph | None = None,
        sets: float = 0.0,
    ) -> Answers:
        """Return a class for every node of a graph whose nodes may be of any task; its labels, if
        any, are not read.

        Args:
            graph: a graph in memory, or the path or URL of a graph file.
            decide: `router`, `expert` or `soft`; None: as the bank was made.
            router: `ridge`, `prototype` or `auto`: what chooses the task; auto is ridge, and for
                components and graphs with `expert` or `soft` what validation is most sure of.
            unit: `node`, `component` or `graph`: what one choice is made for.
            unknown: share of nodes of known classes that may be called unknown; 0: never; None: as
                the bank was made.
            options: all of the above in one, and more; it replaces them.
            context: a graph that was named when the other was imported: its nodes are neighbours of
                the new ones, and are not answered. None: edges to it are not used.
            sets: share of the sets of classes that are to hold the right one; 0: no sets.
        """
        asked = options or self._options(decide, router, unit, unknown, sets)
        return asked_once(Predictor(self, asked), graph, context)

    @subnormals.flushed()
    def node_server(
        self,
        *,
        decide: str | None = None,
        unknown: float | None = None,
        directed: bool = False,
        feature_names: Sequence[str] = (),
    ) -> NodeServer:
        """Return what answers one node after another, with everything loaded. It calls a node
        unknown by what the regression says of it and its neighbours; `predict` looks further, where
        the bank keeps validation nodes.

        Args:
            decide, unknown: as for `predict`.
            directed: edges are used as directed where the bank's `split.symmetrize` is
                `as_released`.
            feature_names: F names of the columns that will come, in any order; empty: they stand in
                the bank's order.

        Raises:
            TaamctlError: the bank is empty or damaged, or has other features.
        """
        alone = SingleNodes(self)
        predictor = Predictor(alone, self._options(decide, "ridge", "node", unknown))
        return NodeServer(alone, predictor, directed=directed, feature_names=feature_names)

    def _options(
        self,
        decide: str | None,
        router: str,
        unit: str,
        unknown: float | None,
        sets: float = 0.0,
    ) -> PredictOptions:
        rate = self.config.bank.unknown if unknown is None else unknown
        return PredictOptions(decide or self.config.bank.decide, router, unit, rate, sets=sets)


@subnormals.flushed()
def asked_once(predictor: Predictor, graph: Graph, context: Graph | Query | None = None) -> Answers:
    """Return the answers of one of many graphs, as `Bank.predict` does; a context that is opened
    already is left open.
    """
    with ExitStack() as files:
        query = query_of(graph, files)
        if context is not None:
            query = beside(query, query_of(context, files))
        return predictor.answer(query)


def query_of(graph: Graph | Query, files: ExitStack) -> Query:
    """Return a graph to be asked about; a file stays open as long as `files` does."""
    if isinstance(graph, (str, Path)):
        return files.enter_context(OnDisk(remote_files.local(graph)))
    if isinstance(graph, NodeGraph):
        graph = Source(graph)
    return InMemory(graph) if isinstance(graph, Source) else graph


def load_bank(path: str | Path) -> Bank:
    """Open a bank.

    Args:
        path: its folder, or the URL of a file that `taamctl bank export` wrote.

    Raises:
        TaamctlError: there is none, it cannot be reached, or its manifest was changed.
    """
    return Bank(remote_bank.folder_of(path))
