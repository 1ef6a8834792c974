"""Features divided by their own size: what the size sees, and that no digit is lost."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.rows import FeatureRows, of_whole
from taamctl.core.types import CSR, Array
from taamctl.features import column_sizes, group_features
from taamctl.features.raw_features import normalise
from taamctl.graph import feature_sizes
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.params.precompute_params import PrecomputeParams

PRE = PrecomputeParams(
    hops=2,
    max_hop=3,
    self_loops="add",
    feature_norm="column",
    backend="scipy",
    ls_hops=2,
    ls_reconnect=True,
    ls_seed=0,
    store_x=True,
    store_edges=True,
)


def drawn(seed: int, n: int = 60, f: int = 9) -> Array:
    """Return sparse-looking features of very different sizes, one of them always 0."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, f)) * 10.0 ** rng.integers(-4, 6, f)
    x[rng.random((n, f)) < 0.5] = 0
    x[:, seed % f] = 0
    return x.astype(np.float32)


def in_blocks(x: Array | CSR, size: int) -> FeatureRows:
    def make() -> list[Array | CSR]:
        lows = range(0, x.shape[0], size)
        if isinstance(x, CSR):
            return [x.rows(low, min(x.shape[0], low + size)) for low in lows]
        return [x[low : low + size] for low in lows]

    return FeatureRows((x.shape[0], x.shape[1]), make)


@pytest.mark.parametrize("seed", range(5))
def test_a_size_is_the_root_mean_square_of_what_is_not_zero_to_a_power_of_two(seed: int) -> None:
    x = drawn(seed)
    nodes = np.random.default_rng(seed).permutation(len(x))[:30]
    found = column_sizes.of_nodes(of_whole(x), nodes)
    mine = x[nodes].astype(np.float64)
    for column, size in enumerate(found):
        values = mine[:, column][mine[:, column] != 0]
        if len(values):
            ratio = size / np.sqrt((values**2).mean())
            assert 2**-0.5 <= ratio <= 2**0.5
    assert np.array_equal(np.exp2(np.round(np.log2(found))), found)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_the_same_however_the_rows_come(seed: int) -> None:
    x = drawn(seed)
    nodes = np.arange(0, len(x), 2)
    want = column_sizes.of_nodes(of_whole(x), nodes)
    sparse = from_scipy(sp.csr_matrix(x))
    for rows in (in_blocks(x, 7), of_whole(sparse), in_blocks(sparse, 1)):
        assert np.array_equal(column_sizes.of_nodes(rows, nodes), want)


def test_nothing_but_the_first_tasks_training_nodes_is_seen() -> None:
    x = drawn(1)
    nodes = np.array([3, 5, 8, 13, 21])
    other = np.setdiff1d(np.arange(len(x)), nodes)
    changed = x.copy()
    changed[other] = 1e9
    same = column_sizes.of_nodes(of_whole(changed), nodes)
    assert np.array_equal(same, column_sizes.of_nodes(of_whole(x), nodes))


def test_a_feature_that_is_not_there_yet_is_given_the_median_size() -> None:
    x = np.array([[4, 0, 16, 4], [4, 0, 16, 4], [0, 9e5, 0, 0]], np.float32)
    assert column_sizes.of_nodes(of_whole(x), np.array([0, 1])).tolist() == [4, 4, 16, 4]
    nothing = column_sizes.of_nodes(of_whole(np.zeros((2, 3), np.float32)), np.array([0]))
    assert nothing.tolist() == [1, 1, 1]


@pytest.mark.parametrize("with_data", [True, False])
def test_dividing_loses_no_digit(with_data: bool) -> None:
    x = drawn(2) if with_data else (drawn(2) != 0).astype(np.float32)
    sizes = column_sizes.of_nodes(of_whole(x), np.arange(20))
    sparse = from_scipy(sp.csr_matrix(x))
    if not with_data:
        sparse = CSR(sparse.indptr, sparse.indices, None, sparse.shape)
    dense = normalise(x, sizes)
    assert isinstance(dense, np.ndarray) and dense.dtype == np.float32
    assert np.array_equal(dense * sizes, x)
    assert np.array_equal(to_scipy(normalise(sparse, sizes)).toarray(), dense)


def test_propagated_features_are_those_of_the_divided_ones() -> None:
    x = drawn(4)
    rng = np.random.default_rng(0)
    edges, _ = adjacency_from_edges(*rng.integers(0, 20, (2, 90)), 20, "g")
    whole = sp.block_diag([to_scipy(edges)] * 3)
    offset = np.array([0, 20, 40, 60])
    block = from_scipy(whole.tocsr(), binary=True)
    made = group_features.compute_all(x, np.arange(60), offset, block, PRE, "column")
    sizes = column_sizes.of_nodes(of_whole(x), np.arange(20))
    plain = group_features.compute_all(x / sizes, np.arange(60), offset, block, PRE, "none")
    for one, other in zip(made, plain, strict=True):
        for name, array in other.stored(PRE).items():
            assert np.array_equal(one.stored(PRE)[name], array)


def test_a_feature_a_hundred_times_as_large_as_the_rest_is_named() -> None:
    rng = np.random.default_rng(5)
    for sparse in (False, True):
        x = np.abs(rng.standard_normal((50, 6))).astype(np.float32) * (rng.random((50, 6)) < 0.2)
        x[:, 4] *= 3000
        x[:, 1] /= 5000
        found = feature_sizes.outlying(from_scipy(sp.csr_matrix(x)) if sparse else x)
        assert found is not None and set(found.columns) == {1, 4}
        words = feature_sizes.sentence(found, [f"f{i}" for i in range(6)])
        assert "'f4'" in words and "'f1'" in words
        x[:, 4] /= 3000
        x[:, 1] *= 5000
        assert feature_sizes.outlying(x) is None, "how often a feature is filled is no size"


def test_of_two_features_the_larger_is_named() -> None:
    found = feature_sizes.outlying(np.array([[1, 5000], [2, 4000]], np.float32))
    assert found is not None and found.columns == (1,)
    assert feature_sizes.outlying(np.array([[5000], [4000]], np.float32)) is None
