"""Where graphs come from: a file that `taamctl data import` made, a data set by its name, or a
graph in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from taamctl.core import subnormals
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.datasets import _imported
from taamctl.features.raw_features import Norm, normalise
from taamctl.runtime import remote_files

DATASETS = "taamctl.datasets"


@dataclass(frozen=True)
class Source:
    """A whole graph, and what its reader does to it.

    Attributes:
        directed: edges are used as directed where `split.symmetrize` is `as_released`.
        unlabelled_as: label that unlabelled nodes are given where `split.unlabelled` is
            `as_released`; None: they have none.
        feature_norm: what `precompute.feature_norm` `as_released` means for it.
        before_names: it is a file from before names of features were kept.
        context: how many of its nodes, the last ones, are neighbours of the others only: nothing
            is learned of them.
        reordered: its usual reader numbers the nodes anew on load.
    """

    graph: NodeGraph
    directed: bool = False
    unlabelled_as: int | None = None
    feature_norm: str = "none"
    before_names: bool = False
    context: int = 0
    reordered: bool = True


def from_file(path: Path) -> Source:
    """Read a graph file whole; it may be named by a URL.

    Raises:
        TaamctlError: missing, damaged, or no graph.
    """
    path = remote_files.local(path)
    graph, meta = _imported.read(path), _imported.module(path).META
    with _imported.opened(path) as file:
        before_names = _imported.from_before_names(file)
    return Source(graph, meta.directed, meta.unlabelled_as, meta.feature_norm, before_names)


@subnormals.flushed()  # as split
def from_dataset(name: str, root: Path | None, own: object) -> Source:
    """Load a data set by its name.

    Args:
        own: its section of the parameters, or None.
    """
    source = data_set(name)
    meta = source.meta
    return Source(
        source.load(root, own),
        meta.directed,
        meta.unlabelled_as,
        meta.feature_norm,
        reordered=meta.reordered,
    )


class Query(Protocol):
    """A graph whose nodes want classes: its edges at once, its features a few rows at a time.

    Attributes:
        answered: how many nodes want a class: the first ones. The others are their neighbours.
    """

    num_nodes: int
    answered: int
    num_features: int
    directed: bool
    before_names: bool

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the features, F or none."""

    def adjacency(self) -> CSR:
        """Return the edges as stored, [N, N] binary."""

    def rows(self, low: int, high: int) -> Array:
        """Return the raw features of nodes [low, high) as dense float32."""

    def names(self) -> Array | None:
        """Return the nodes' names in their source, [N] text, or None."""

    def outside(self) -> Outside | None:
        """Return the edges to nodes of another graph, or None."""


class InMemory:
    """A graph that is in memory already."""

    def __init__(self, source: Source) -> None:
        self.graph, self.directed, self.before_names = (
            source.graph,
            source.directed,
            source.before_names,
        )
        self.num_nodes, self.num_features = self.graph.num_nodes, self.graph.num_features
        self.answered = self.num_nodes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the features, as far as there are any."""
        return self.graph.feature_names

    def adjacency(self) -> CSR:
        """Return the edges."""
        return self.graph.adjacency

    def rows(self, low: int, high: int) -> Array:
        """Return some rows; CSR becomes dense."""
        x = self.graph.features
        return x[low:high] if not isinstance(x, CSR) else dense(x.rows(low, high))

    def names(self) -> Array | None:
        """Return the names that the source stated."""
        return self.graph.given.node_id

    def outside(self) -> Outside | None:
        """Return the edges that the graph keeps to nodes of another one."""
        return self.graph.outside


class OnDisk:
    """A graph file of which only the edges are read whole; features are read a slice at a time
    and are finite.
    """

    def __init__(self, path: Path) -> None:
        self._file = _imported.opened(path)
        self.directed, self.num_features = (
            bool(self._file.attribute("directed")),
            int(self._file.attribute("num_features")),
        )
        (self.num_nodes,), self.before_names = (
            self._file.shape("labels"),
            _imported.from_before_names(self._file),
        )
        self.answered = self.num_nodes
        self._path, self._dense = path, self._file.has("features/dense")
        self._indptr = None if self._dense else self._file.read("features/indptr")

    def __enter__(self) -> OnDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.__exit__()

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Read the names of the features, as far as there are any."""
        return _imported.feature_names(self._file)

    def adjacency(self) -> CSR:
        """Read the edges."""
        return CSR(
            self._file.read("adjacency/indptr"),
            self._file.read("adjacency/indices"),
            None,
            (self.num_nodes, self.num_nodes),
        )

    def rows(self, low: int, high: int) -> Array:
        """Read some rows."""
        if self._indptr is None:
            out = self._file.rows("features/dense", low, high)
        else:
            a, b = int(self._indptr[low]), int(self._indptr[high])
            data = (
                self._file.rows("features/data", a, b) if self._file.has("features/data") else None
            )
            indices = self._file.rows("features/indices", a, b)
            out = dense(
                CSR(
                    self._indptr[low : high + 1] - a, indices, data, (high - low, self.num_features)
                )
            )
        if not np.isfinite(out).all():
            raise TaamctlError(
                f"{self._path}: a feature of the nodes {low} to {high - 1} is not finite",
                "repair it and import the graph again",
            )
        return out

    def names(self) -> Array | None:
        """Read the names that the source stated."""
        return self._file.read("given/node_id") if self._file.has("given/node_id") else None

    def outside(self) -> Outside | None:
        """Read the edges to nodes of another graph."""
        return _imported.outside(self._file)


def dense(x: CSR) -> Array:
    """Return a CSR matrix as a dense one; its entries are unique, so each is set once."""
    out = np.zeros(x.shape, np.float32)
    out[np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices] = (
        1.0 if x.data is None else x.data
    )
    return out


def normalised(rows: Array, norm: Norm) -> Array:
    """Return dense rows normalised as the bank's are."""
    out = normalise(rows, norm)
    assert not isinstance(out, CSR)
    return out
