"""What the number of test nodes leaves open of AA."""

from __future__ import annotations

import numpy as np
import pytest

from taamctl.core.types import Array
from taamctl.evaluation import matrix, node_sampling

rng = np.random.default_rng


def drawn(seed: int, most: int) -> tuple[Array, Array, Array]:
    """Return bounds [T, 2], test nodes [C] and true recalls [C] of a random stream."""
    r = rng(seed)
    sizes = r.integers(2, 5, r.integers(2, 6))
    ends = np.cumsum(sizes)
    bounds = np.stack([ends - sizes, ends], 1)
    return bounds, r.integers(1, most, ends[-1]), r.beta(3, 1, ends[-1])


def answers(nodes: Array, recall: Array, seed: int) -> tuple[Array, Array]:
    y = np.repeat(np.arange(len(nodes)), nodes)
    right = rng(seed).random(len(y)) < recall[y]
    return y, np.where(right, y, (y + 1) % len(nodes))


@pytest.mark.parametrize("averaging", ["balanced", "micro"])
@pytest.mark.parametrize(("most", "least"), [(6, 0.85), (60, 0.9)])
def test_the_interval_holds_the_accuracy_on_endless_test_nodes(
    averaging: str, most: int, least: float
) -> None:
    """Drawing the nodes that are there anew, as they are, is right 69 times of 100 with one to
    five nodes in every class.
    """
    inside = 0
    draws = 250
    for seed in range(draws):
        bounds, nodes, recall = drawn(seed, most)
        y, predicted = answers(nodes, recall, seed + 10_000)
        low, high = node_sampling.aa_interval(y, predicted, bounds, averaging)
        true = float(recall @ node_sampling.class_shares(nodes, bounds, averaging))
        inside += low <= true <= high
    assert inside >= least * draws


@pytest.mark.parametrize("averaging", ["balanced", "micro"])
def test_the_shares_of_classes_make_aa(averaging: str) -> None:
    for seed in range(20):
        bounds, nodes, recall = drawn(seed, 9)
        nodes[seed % len(nodes)] = 0
        y, predicted = answers(nodes, recall, seed)
        task = np.searchsorted(bounds[:, 1], y, side="right")
        last = np.repeat(predicted[None], len(bounds), 0)
        aa = matrix.average_accuracy(matrix.accuracy_matrix(y, task, last, bounds, averaging))
        found = np.nan_to_num(matrix.class_recall(y, predicted, len(nodes)))
        assert found @ node_sampling.class_shares(nodes, bounds, averaging) == pytest.approx(aa)
        low, high = node_sampling.aa_interval(y, predicted, bounds, averaging)
        assert 0 <= low <= aa + 1e-12 and aa - 1e-12 <= high <= 1


def test_more_nodes_make_it_narrower_and_a_repeat_makes_it_the_same() -> None:
    bounds, nodes, recall = drawn(3, 9)
    widths = []
    for times in (1, 10, 100):
        y, predicted = answers(times * nodes, recall, 0)
        low, high = node_sampling.aa_interval(y, predicted, bounds, "balanced")
        assert (low, high) == node_sampling.aa_interval(y, predicted, bounds, "balanced")
        widths.append(high - low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_one_right_node_of_one_is_no_certainty() -> None:
    bounds = np.array([[0, 2]])
    y = np.array([0, 1])
    low, high = node_sampling.aa_interval(y, y, bounds, "balanced")
    assert low < 0.6
    assert high == 1


def test_without_a_prediction_there_is_no_interval() -> None:
    y = np.array([0, 1])
    found = node_sampling.aa_interval(y, y - 9, np.array([[0, 2]]), "balanced")
    assert np.isnan(found).all()


def test_thin_classes_are_named_with_what_a_node_is_worth() -> None:
    bounds = np.array([[0, 2], [2, 4]])
    nodes = np.array([12, 2, 0, 1])
    names = ["a", "b", "c", "d"]
    found = node_sampling.thin_classes(nodes, bounds, "balanced", names)
    assert [(thin.name, thin.nodes, thin.points) for thin in found] == [
        ("d", 1, 50),
        ("b", 2, 12.5),
    ]
    (last, first) = node_sampling.thin_classes(nodes, bounds, "micro", names)
    assert (last.points, first.points) == (50, pytest.approx(100 / 28))
