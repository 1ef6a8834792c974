"""What validation says of task-ID inference, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from taamctl.evaluation import routing, summary

GRID = {"amp/cosine": 1.0, "amp/euclid": 1.0, "ls/cosine": 0.5, "ls/euclid": None}


def test_nearness_is_the_smallest_share_by_which_the_nearest_is_nearer() -> None:
    cosine = np.array([[0.9, 0.8, 0.0], [0.5, 0.6, 0.2], [0.0, 0.0, 1.0]])
    assert routing.nearness(cosine, "cosine") == pytest.approx((0.5 - 0.4) / 0.5)
    assert routing.nearness(np.array([[-1.0, -4.0], [-3.0, -2.0]]), "euclid") == pytest.approx(
        1 / 3
    )


def test_nearness_of_nothing_to_compare() -> None:
    assert np.isnan(routing.nearness(np.array([[1.0]]), "cosine"))
    assert np.isnan(routing.nearness(np.full((2, 2), np.nan), "cosine"))
    one = np.array([[0.9, 0.5], [np.nan, np.nan]])
    assert routing.nearness(one, "cosine") == pytest.approx(0.8), (
        "a task without a query graph is left out"
    )
    assert routing.nearness(np.ones((2, 2)), "cosine") == 0, "equal prototypes"


def test_wrong_ids_name_what_is_right() -> None:
    (line,) = routing.doubts(0.5, 0.9, {**GRID, "amp/cosine": 0.5}, "amp/cosine")
    assert "by amp/cosine are right on 50 % of the validation graphs" in line and line.endswith(
        "right on all of them: amp/euclid"
    )
    (none,) = routing.doubts(
        0.5, 0.9, {"amp/cosine": 0.5, "amp/euclid": 0.75, "ls/cosine": None}, "amp/cosine"
    )
    assert none.endswith("none is right on all; most often right is amp/euclid (75 %)")
    (same,) = routing.doubts(0.5, 0.9, {"amp/cosine": 0.5, "amp/euclid": 0.5}, "amp/cosine")
    assert same.endswith("no other does better")
    (unlisted,) = routing.doubts(0.5, 0.9, {}, "mean/cosine")
    assert unlisted.endswith("no other does better")


def test_a_narrow_margin_is_told_with_the_margin() -> None:
    (line,) = routing.doubts(1.0, 0.07, GRID, "amp/cosine")
    assert "7 % nearer than the second (safe from 20 %)" in line and line.endswith(
        "also right there: amp/euclid"
    )
    assert routing.doubts(1.0, routing.MARGIN, GRID, "amp/cosine") == []


@pytest.mark.parametrize(
    ("accuracy", "nearest"), [(1.0, 0.5), (1.0, None), (None, None), (1.0, float("nan"))]
)
def test_nothing_is_said_where_nothing_speaks_against_it(
    accuracy: float | None, nearest: float | None
) -> None:
    assert routing.doubts(accuracy, nearest, GRID, "amp/cosine") == []


def test_settings_choose_a_profile_and_a_metric() -> None:
    assert routing.settings("ls/euclid") == ("infer.profile=ls", "infer.metric=euclid")


def test_one_class_tasks_count_classes_with_a_test_node() -> None:
    bounds = np.array([[0, 2], [2, 3], [3, 5], [5, 7]])
    y = np.array(
        [0, 1, 2, 2, 3, 3]
    )  # task 1 has one class; task 2 lacks class 4; task 3 has no test node
    assert summary.one_class_tasks(y, bounds) == [1, 2]
