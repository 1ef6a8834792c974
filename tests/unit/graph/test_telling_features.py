"""Features that tell the class are named, whatever they are called; features that help are not."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.types import Array, Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.graph.telling_features import telling


def graph(x: Array | sp.spmatrix, labels: Array, given: Given | None = None) -> NodeGraph:
    n = len(labels)
    edges, _ = adjacency_from_edges(np.arange(n - 1), np.arange(1, n), n, "here")
    features = from_scipy(sp.csr_matrix(x)) if sp.issparse(x) else x.astype(np.float32)
    names = tuple(f"c{i}" for i in range(int(labels.max()) + 1))
    return NodeGraph("g", edges, features, labels.astype(np.int64), names, (), given or Given())


def found(
    x: Array | sp.spmatrix, labels: Array, given: Given | None = None
) -> dict[str, list[int]]:
    return {t.kind: list(t.columns) for t in telling(graph(x, labels, given))}


def columns(seed: int, n: int = 400, classes: int = 6) -> tuple[Array, Array, np.random.Generator]:
    """Return informative and random features, labels with unlabelled nodes, and what draws more."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    centre = rng.normal(size=(classes, 5)) * 3
    x = np.concatenate([centre[labels] + rng.normal(size=(n, 5)), rng.normal(size=(n, 4))], 1)
    return x, np.where(rng.random(n) < 0.1, -1, labels), rng


@pytest.mark.parametrize("seed", range(6))
def test_features_that_merely_help_are_not_named(seed: int) -> None:
    x, labels, rng = columns(seed)
    degree = rng.poisson(4, len(x))[:, None] + labels[:, None]
    words = rng.random((len(x), 20)) < 0.2 + 0.5 * (labels[:, None] == np.arange(20) % 6)
    rare = np.zeros((len(x), 1))
    rare[3] = 1
    assert found(np.hstack([x, degree, words, rare]), labels) == {}
    assert found(sp.csr_matrix(np.hstack([words, rare])), labels) == {}


@pytest.mark.parametrize("seed", range(6))
def test_the_class_in_another_form_is_named(seed: int) -> None:
    x, labels, rng = columns(seed)
    codes = rng.permutation(100)[:6]
    forms = {
        "code": codes[labels],
        "of a family": np.arange(6)[labels] // 2,
        "narrow": codes[labels] * 10 + rng.normal(size=len(x)) * 0.1,
        "one of a one-hot": labels == 2,
    }
    place = int(rng.integers(0, x.shape[1]))
    for form, column in forms.items():
        column = np.where(labels < 0, rng.permutation(column), column)
        assert found(np.insert(x, place, column, 1), labels) == {"class": [place]}, form
    one_hot = np.where(labels[:, None] < 0, 0, labels[:, None] == np.arange(6))
    assert found(np.hstack([one_hot, x]), labels) == {"class": list(range(6))}
    assert found(sp.csr_matrix(np.hstack([x > 1, one_hot])), labels)["class"] == [*range(9, 15)]


def test_one_class_of_nearly_all_nodes_is_no_reason() -> None:
    rng = np.random.default_rng(0)
    labels = (np.arange(1000) < 15).astype(int)
    x = rng.normal(size=(1000, 8))
    assert found(x, labels) == {}
    assert found(np.column_stack([x, labels * 2.0]), labels) == {"class": [8]}


@pytest.mark.parametrize("seed", range(3))
def test_row_time_part_and_constants_are_named(seed: int) -> None:
    x, labels, rng = columns(seed)
    n = len(x)
    when, part = rng.integers(1990, 2020, n).astype(float), rng.integers(-1, 3, n).astype(np.int8)
    given = Given(None, part, when, None)
    more = [np.arange(n) * 2 + 1000, when, part == 0, np.full(n, 7)]
    expected = {"row": [9], "time": [10], "part": [11], "constant": [12]}
    named = np.where(part < 0, 0, more[2])
    assert found(np.column_stack([x, *more[:2], named, more[3]]), labels, given) == expected


def test_a_million_rows_and_many_columns_take_little_time() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 1_000_000)
    x = rng.normal(size=(1_000_000, 8)).astype(np.float32)
    x[:, 3] = labels
    at = rng.integers(0, 50_000, 1_000_000), rng.integers(0, 20_000, 1_000_000)
    wide = sp.csr_matrix((np.ones(1_000_000), (at[1], at[0])), (20_000, 50_000))
    begun = time.perf_counter()
    assert found(x, labels) == {"class": [3]}
    assert found(wide, labels[:20_000]).keys() <= {"constant"}
    assert time.perf_counter() - begun < 30
