"""Small graphs and banks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from taamctl.bank import add, store
from taamctl.bank.config import Config, from_params
from taamctl.bank.graph_source import Source
from taamctl.core import registry
from taamctl.core.types import CSR, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections

FAST = ("train.epochs=3", "train.threads=1", "train.device=cpu", "bank.router.width=24")
MakeGraph = Callable[..., NodeGraph]


def make_graph(
    names: Sequence[str] = ("a", "b"),
    per_class: int = 30,
    features: int = 12,
    seed: int = 0,
    edges: bool = True,
    sparse: bool = False,
    width: float = 0.2,
) -> NodeGraph:
    """Return a graph in which a class's nodes lie around a mean that depends on the class's name
    alone, and are tied to each other.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(names)), per_class).astype(np.int64)
    order = rng.permutation(len(labels))
    labels = labels[order]
    means = np.array(
        [np.random.default_rng([ord(c) for c in name]).random(features) for name in names]
    ).reshape(-1, features)
    x = (means[labels] + width * rng.standard_normal((len(labels), features))).astype(np.float32)
    pairs = (
        [
            (u, v)
            for c in range(len(names))
            for u, v in rng.choice(np.flatnonzero(labels == c), (2 * per_class, 2))
            if u != v
        ]
        if edges and per_class
        else []
    )
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    both = np.concatenate([ends, ends[:, ::-1]])
    adjacency, _ = adjacency_from_edges(both[:, 0], both[:, 1], len(labels), "g")
    held: np.ndarray | CSR = x
    if sparse:
        x[x < 0.5] = 0
        rows, columns = np.nonzero(x)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))]).astype(
            np.int64
        )
        held = CSR(indptr, columns.astype(np.int32), x[rows, columns], x.shape)
    return NodeGraph("g", adjacency, held, labels, tuple(names))


@pytest.fixture(scope="session")
def graph() -> MakeGraph:
    return make_graph


@pytest.fixture(scope="session")
def config() -> Callable[..., Config]:
    def make(method: str = "taam", *overrides: str) -> Config:
        checked = sections.Params(
            "test", params_file.read(params_file.PACKAGED, [*FAST, *overrides])
        )
        registry.require("taamctl.methods", method)
        return from_params(checked, method, 1)

    return make


@pytest.fixture
def bank(tmp_path: Path, config: Callable[..., Config]) -> Path:
    """Return a bank that knows a and b as task 1, c and d as task 2."""
    return two_tasks(tmp_path / "bank", config())


def two_tasks(folder: Path, made: Config) -> Path:
    store.create(folder, made)
    add.add(folder, Source(make_graph(("a", "b"), seed=1)))
    add.add(folder, Source(make_graph(("c", "d"), seed=2)))
    return folder
