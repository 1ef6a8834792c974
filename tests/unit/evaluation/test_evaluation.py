from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.evaluation import matrix, summary
from taamctl.evaluation.record import Cost
from taamctl.store.atomic_files import strict

BOUNDS = np.array([[0, 2], [2, 4]])
Y = np.array([0, 0, 0, 1, 2, 3])
TASK = np.array([0, 0, 0, 0, 1, 1])


def test_accuracy_matrix_by_hand() -> None:
    predicted = np.array([[0, 0, 1, 1, -1, -1], [0, 1, 1, 1, 2, 2]])
    balanced = matrix.accuracy_matrix(Y, TASK, predicted, BOUNDS, "balanced")
    assert balanced[0, 0] == pytest.approx((2 / 3 + 1) / 2)
    assert np.isnan(balanced[0, 1])
    assert balanced[1].tolist() == pytest.approx([(1 / 3 + 1) / 2, 0.5])
    micro = matrix.accuracy_matrix(Y, TASK, predicted, BOUNDS, "micro")
    assert micro[0, 0] == pytest.approx(3 / 4)
    assert micro[1].tolist() == pytest.approx([2 / 4, 1 / 2])
    assert matrix.average_accuracy(balanced) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert matrix.backward_transfer(balanced) == pytest.approx(2 / 3 - 5 / 6)
    assert matrix.average_forgetting(balanced) == pytest.approx(5 / 6 - 2 / 3)
    assert matrix.accuracy_curve(balanced).tolist() == pytest.approx([5 / 6, (2 / 3 + 1 / 2) / 2])


def test_a_class_without_nodes_is_left_out_and_flagged() -> None:
    y, task = np.array([0, 0, 2, 3]), np.array([0, 0, 1, 1])
    m = matrix.accuracy_matrix(y, task, np.tile([0, 0, 2, 0], (2, 1)), BOUNDS, "balanced")
    assert m[1].tolist() == [1.0, 0.5]
    assert summary.flags(y, BOUNDS, ["a", "b", "c", "d"], [summary.Dropped("e", 1, "small")]) == [
        "class e (1 nodes) is not in the stream: small",
        "class b has no test node and is left out of the means",
    ]


def test_a_task_without_nodes_is_left_out_of_the_mean() -> None:
    y, task = np.array([0, 1]), np.array([0, 0])
    m = matrix.accuracy_matrix(y, task, np.tile([0, 0], (2, 1)), BOUNDS, "balanced")
    assert np.isnan(m[1, 1])
    assert matrix.average_accuracy(m) == 0.5


def test_untrained_stages_have_no_accuracy_and_no_forgetting() -> None:
    predicted = np.array([[-1] * 6, [0, 0, 0, 1, 2, 3]])
    m = matrix.accuracy_matrix(Y, TASK, predicted, BOUNDS, "balanced")
    assert np.isnan(m[0]).all()
    assert matrix.average_accuracy(m) == 1
    assert np.isnan(matrix.average_forgetting(m))
    assert (
        json.dumps(strict({"af": matrix.average_forgetting(m)}), allow_nan=False) == '{"af": null}'
    )


def test_no_forgetting_is_plain_zero() -> None:
    m = np.array([[0.5, np.nan], [0.5, 1.0]])
    assert str(matrix.average_forgetting(m)) == "0.0"
    assert np.isnan(matrix.backward_transfer(np.array([[1.0]])))


def test_task_id_accuracy_counts_decisions_made() -> None:
    choice = np.array([[0, -1, -1], [0, 1, -1], [0, 2, -1]])
    assert matrix.task_id_accuracy(choice).tolist() == [1.0, 1.0, 0.5]


def test_costs_count_prototypes_only_in_full_and_only_where_used() -> None:
    facts = summary.Facts(
        title="M",
        family="",
        source="",
        variant="",
        scope="all_seen",
        task_id="inferred",
        routed=("amp", "cosine"),
        settings={},
        stored=summary.Stored(parameters=100, rows=3, uncounted=7),
        num_features=10,
        prototype_width=20,
    )
    assert summary.costs(facts, 4) == Cost(extra_paper=136, extra_full=136 + 7 + 80)
    without = dataclasses.replace(facts, task_id="none")
    assert summary.costs(without, 4) == Cost(extra_paper=136, extra_full=143)


def test_the_table_of_decisions_counts_tasks_from_one() -> None:
    task_id = SimpleNamespace(decisions=[[0, -1, -1], [1, 0, -1], [2, 0, -1]])
    result = SimpleNamespace(parts={"test": SimpleNamespace(task_id=task_id)})
    assert summary.decision_table(result) == "task,decision\n1,3\n2,1\n"


POLICY = {
    "train": 0.6,
    "val": 0.2,
    "test": 0.2,
    "seed": 42,
    "class_order": "natural",
    "order_seed": 3,
    "node_order": "file",
}


@pytest.mark.parametrize(
    ("changes", "stated", "text"),
    [
        ({}, {}, "60/20/20 per class, split seed 42 (same for all seeds), natural class order"),
        (
            {"class_order": "seeded_permutation"},
            {},
            "60/20/20 per class, split seed 42 (same for all seeds), class order seed 3",
        ),
        (
            {"class_order": "time"},
            {"parts": "time"},
            "60/20/20 per class, the oldest nodes for training, classes in order of their first "
            "node",
        ),
        ({}, {"tasks": "given", "parts": "given"}, "parts as given, tasks as given"),
        (
            {"class_order": "time", "node_order": "reader"},
            {"tasks": "given"},
            "60/20/20 per class, split seed 42 (same for all seeds), tasks in order of their first "
            "node, reader node order",
        ),
        (
            {"class_order": "seeded_permutation"},
            {"tasks": "given", "parts": "given"},
            "parts as given, task order seed 3",
        ),
    ],
)
def test_the_split_policy_says_what_the_graph_states(
    changes: dict, stated: dict, text: str
) -> None:
    assert summary.split_policy({**POLICY, **changes}, summary.Account(**stated)) == text
