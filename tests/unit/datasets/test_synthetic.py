"""The generator: exact sizes, determinism, and that there is something to learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.types import Array, NodeGraph
from taamctl.datasets import synthetic
from taamctl.datasets.synthetic import Params
from taamctl.graph.canonical import content_hash, symmetrise, to_scipy

TINY = Params(preset="tiny", homophily=0.8, noise=0.3, seed=0)


@pytest.fixture(scope="module")
def tiny() -> NodeGraph:
    """Return the tiny preset."""
    return synthetic.load(None, TINY)


def ends(graph: NodeGraph) -> tuple[Array, Array]:
    """Return the sources and targets of the stored edges."""
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.adjacency.indptr))
    return graph.adjacency.indices, rows


def test_exact_counts(tiny: NodeGraph) -> None:
    assert (tiny.num_nodes, tiny.adjacency.nnz, tiny.num_features, len(tiny.class_names)) == (
        2_000,
        8_000,
        16,
        10,
    )
    assert symmetrise(tiny.adjacency).nnz == 16_000  # every undirected edge is stored once
    assert int(to_scipy(tiny.adjacency).diagonal().sum()) == 0
    source, target = ends(tiny)
    assert (source < target).all()
    assert np.bincount(tiny.labels, minlength=10).min() >= synthetic.SMALLEST


def test_same_arguments_same_bytes(tiny: NodeGraph) -> None:
    assert content_hash(synthetic.load(None, TINY)) == content_hash(tiny)


@pytest.mark.parametrize("change", [{"seed": 1}, {"homophily": 0.5}, {"noise": 0.4}])
def test_every_parameter_counts(tiny: NodeGraph, change: dict[str, Any]) -> None:
    assert content_hash(synthetic.load(None, replace(TINY, **change))) != content_hash(tiny)


def test_noise_changes_features_only(tiny: NodeGraph) -> None:
    other = synthetic.load(None, replace(TINY, noise=0.0))
    assert np.array_equal(other.adjacency.indices, tiny.adjacency.indices)
    assert np.array_equal(other.labels, tiny.labels)
    assert isinstance(other.features, np.ndarray)
    assert len(np.unique(other.features, axis=0)) == 10
    assert np.allclose(np.linalg.norm(other.features, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("homophily", [0.0, 0.5, 1.0])
def test_homophily_is_what_was_asked(homophily: float) -> None:
    graph = synthetic.load(None, replace(TINY, homophily=homophily))
    source, target = ends(graph)
    assert (graph.labels[source] == graph.labels[target]).mean() == pytest.approx(
        homophily, abs=0.03
    )


def test_degrees_are_heavy_tailed(tiny: NodeGraph) -> None:
    degree = np.diff(symmetrise(tiny.adjacency).indptr)
    assert degree.max() > 8 * degree.mean()


def test_class_sizes() -> None:
    sizes = synthetic.class_sizes(2_000, 10)
    assert int(sizes.sum()) == 2_000
    assert (np.diff(sizes) <= 0).all()


def test_two_hops_make_it_learnable(tiny: NodeGraph) -> None:
    from sklearn.linear_model import LogisticRegression

    loops = to_scipy(symmetrise(tiny.adjacency)) + sp.eye_array(2_000, format="csr")
    scale = sp.diags_array(np.asarray(loops.sum(axis=1)).ravel() ** -0.5)
    step = scale @ loops @ scale
    assert isinstance(tiny.features, np.ndarray)
    h = step @ (step @ tiny.features)
    order = np.random.default_rng(0).permutation(2_000)
    train, test = order[:1_200], order[1_200:]
    own, hops = (
        LogisticRegression(C=100, max_iter=2_000)
        .fit(x[train], tiny.labels[train])
        .score(x[test], tiny.labels[test])
        for x in (tiny.features, h)
    )
    assert hops > 0.95
    assert hops > own + 0.03  # the edges tell more than the features alone


def test_preset_has_published_size() -> None:
    graph = synthetic.load(None, replace(TINY, preset="arxiv"))
    assert (graph.num_nodes, graph.adjacency.nnz, graph.num_features) == (169_343, 1_166_243, 128)
